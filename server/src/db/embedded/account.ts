import { execFile, spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import { promisify } from "node:util";

/** A system account that a process runs as. */
export interface Account {
  uid: number;
  gid: number;
}

/** In this order: one made for us, PostgreSQL's own, and the one that every system has. */
const accountNames = ["postrider", "postgres", "_postgres", "nobody"];

/**
 * The account that PostgreSQL must run as. PostgreSQL refuses to run as root, so for root this is the owner of
 * the existing cluster, or the first of a few well-known system accounts; for anyone else it is undefined: ourselves.
 * @param cluster the cluster's directory, which may not exist yet.
 */
export async function databaseAccount(cluster: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(cluster).catch(() => undefined);
  if (owner !== undefined) {
    if (owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
    throw new Error(
      `the database in ${cluster} belongs to root, as which PostgreSQL refuses to run: give it to a system user, e.g. chown -R nobody ${cluster}`,
    );
  }
  for (const name of accountNames) {
    const account = await findAccount(name);
    if (account !== undefined) return account;
  }
  throw new Error(
    `PostgreSQL refuses to run as root, and this system has none of the users ${accountNames.join(", ")}: create one, or start Postrider as an ordinary user`,
  );
}

async function findAccount(name: string): Promise<Account | undefined> {
  const run = promisify(execFile);
  try {
    const uid = await run("id", ["-u", name]);
    const gid = await run("id", ["-g", name]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}

/**
 * Whether the account can do `test <operator> <path>` (`-x`: enter or run, `-w`: write), found out by trying, so
 * that parents, ACLs and mount options count.
 * @param directory an open directory that the trial sees as descriptor 3.
 * @throws when this process may not start one as that account.
 */
export function accountCan(
  account: Account | undefined,
  operator: "-x" | "-w",
  path: string,
  directory?: number,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const trial = spawn("/bin/sh", ["-c", `test ${operator} "$1"`, "postrider-trial", path], {
      ...account,
      cwd: "/",
      stdio: ["ignore", "ignore", "ignore", ...(directory === undefined ? [] : [directory])],
    });
    trial.once("error", (cause: NodeJS.ErrnoException) => {
      const as = account === undefined ? "" : ` as user id ${account.uid}`;
      reject(new Error(`cannot start a process${as} (${cause.code}), which the database needs`, { cause }));
    });
    trial.once("exit", (code) => resolve(code === 0));
  });
}
