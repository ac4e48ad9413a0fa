import { execFile, spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import { delimiter } from "node:path";
import { promisify } from "node:util";

/** A system account that a process runs as. */
export interface Account {
  uid: number;
  gid: number;
}

/** Account names in the order of preference: Postrider's own, PostgreSQL's own, and the one that every system has. */
const accountNames = ["postrider", "postgres", "_postgres", "nobody"];

/**
 * The account that PostgreSQL must run as. PostgreSQL refuses to run as root, so for root this is the owner of the existing
 * cluster, or the first existing account of `accountNames`. For any other user it is undefined: PostgreSQL runs as the
 * current user.
 * @param cluster the cluster's directory, which may not exist yet.
 */
export async function databaseAccount(cluster: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(cluster).catch(() => undefined);
  if (owner !== undefined) {
    if (owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
    throw new Error(
      `the database in ${cluster} belongs to root, and PostgreSQL refuses to run as root: change its owner to a system user, e.g. chown -R nobody ${cluster}`,
    );
  }
  for (const name of accountNames) {
    const account = await findAccount(name);
    if (account !== undefined) return usable(account, name);
  }
  throw new Error(
    `PostgreSQL refuses to run as root, and this system has none of the users ${accountNames.join(", ")}: create one, or start Postrider as an ordinary user`,
  );
}

/**
 * Returns the account if this process can start programs as it. Otherwise, for example for root without the capability to
 * change users, the error is thrown here, once and clearly.
 */
async function usable(account: Account, name: string): Promise<Account> {
  const { code, complaint } = await runToEnd("/bin/sh", ["-c", "exit 0"], { account });
  if (code === 0) return account;
  throw new Error(
    `PostgreSQL refuses to run as root, and this process may not start it as the user ${name} (${complaint}): allow it to change users (CAP_SETUID and CAP_SETGID), or start Postrider as an ordinary user`,
  );
}

async function findAccount(name: string): Promise<Account | undefined> {
  const run = promisify(execFile);
  try {
    const options = { env: plainEnvironment() };
    const uid = await run("id", ["-u", name], options);
    const gid = await run("id", ["-g", name], options);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}

/**
 * Whether the account can write to a path. Determined by trying, so that parent directories, ACLs and mount options count.
 * @param directory an open directory, which the test program has as descriptor 3.
 * @throws when this process may not start a program as that account.
 */
export async function canWrite(
  account: Account | undefined,
  path: string,
  directory?: number,
): Promise<boolean> {
  const trial = ["-c", 'test -w "$1"', "postrider-trial", path];
  const { code, complaint } = await runToEnd("/bin/sh", trial, { account, directory });
  if (code !== undefined) return code === 0;
  const as = account === undefined ? "" : ` as user id ${account.uid}`;
  throw new Error(`cannot start a process${as}, which the database needs: ${complaint}`);
}

/** Runs a short program as the account. The code is undefined when the program did not start, or a signal ended it. */
export function runToEnd(
  file: string,
  args: string[],
  as: { account: Account | undefined; directory?: number | undefined },
): Promise<{ code: number | undefined; complaint: string }> {
  return new Promise((resolve) => {
    let complaint = "";
    const failed = (error: unknown): void =>
      resolve({ code: undefined, complaint: (error as Error).message });
    try {
      const program = spawn(file, args, {
        ...as.account,
        cwd: process.platform === "win32" ? undefined : "/",
        stdio: ["ignore", "ignore", "pipe", ...(as.directory === undefined ? [] : [as.directory])],
        env: plainEnvironment(),
      });
      program.stderr?.setEncoding("utf8").on("data", (text: string) => (complaint += text));
      program.once("error", failed);
      program.once("close", (code, signal) => {
        resolve({
          code: code ?? undefined,
          complaint: complaint.trim() || `it ended with ${code ?? signal}`,
        });
      });
    } catch (error) {
      // Some errors, such as EPERM for the account, are thrown and not emitted as an event.
      failed(error);
    }
  });
}

/** Only the variables that a program needs to be found and loaded, so that the service's secrets are not passed on. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const { env } = process;
  return {
    // The shell, `id` and `sleep` are found even when PATH names none of their folders.
    PATH: [env["PATH"], "/usr/local/bin", "/usr/bin", "/bin"].filter(Boolean).join(delimiter),
    LC_ALL: "C",
    ...(env["LD_LIBRARY_PATH"] === undefined ? {} : { LD_LIBRARY_PATH: env["LD_LIBRARY_PATH"] }),
    ...(env["SystemRoot"] === undefined ? {} : { SystemRoot: env["SystemRoot"] }),
  };
}
