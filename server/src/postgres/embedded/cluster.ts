import { randomUUID } from "node:crypto";
import { closeSync, existsSync, openSync } from "node:fs";
import { chown, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { syncDirectory } from "../../runtime/syncDirectory.ts";
import { type Account, canWrite } from "./account.ts";
import type { Binaries } from "./binaries.ts";
import { startGuarded } from "./guardedProcess.ts";

/** The superuser of the embedded cluster, and the name of the service's database in it. */
export const databaseUser = "postrider";
export const databaseName = "postrider";

const unfinishedPrefix = "postgresql.new-";

/** How PostgreSQL is told where a directory is: by path, or by an open descriptor that it inherits. */
export interface GivenDirectory {
  path: string;
  /** To be passed as descriptor 3 when it is set. */
  descriptor: number | undefined;
}

/** The cluster's place in a data directory. */
export function clusterPath(dataDir: string): string {
  return join(dataDir, "postgresql");
}

/**
 * Makes the cluster unless it exists. It is made beside its place and renamed when it is whole and on disk, so an
 * interruption at any moment leaves either no cluster or a good one; what an interruption left is removed.
 * @param passwordFile holds the superuser's password, where the cluster is reached over TCP.
 * @returns whether it made the cluster, which then has no database of the service.
 * @throws with initdb's last words, or when the existing cluster is of another major version.
 */
export async function ensureCluster(
  input: { dataDir: string; account: Account | undefined; passwordFile: string | undefined },
  binaries: Binaries,
  log: (message: string) => void,
): Promise<boolean> {
  const cluster = clusterPath(input.dataDir);
  await removeUnfinished(input.dataDir);
  if (existsSync(cluster)) {
    await checkVersion(cluster, binaries);
    return false;
  }
  log("creating the database (once)…");
  const unfinished = await mkdtemp(join(input.dataDir, unfinishedPrefix));
  if (input.account !== undefined) await chown(unfinished, input.account.uid, input.account.gid);
  await initialize(unfinished, input, binaries);
  await rename(unfinished, cluster);
  syncDirectory(input.dataDir);
  return true;
}

/** Whether a data directory has a cluster, or what is left of one. */
export async function hasCluster(dataDir: string): Promise<boolean> {
  if (existsSync(clusterPath(dataDir))) return true;
  return existsSync(dataDir) && (await unfinishedIn(dataDir)).length > 0;
}

/** Removes the cluster. An interruption leaves it whole or as an unfinished one, which the next start or removal deletes. */
export async function removeCluster(dataDir: string): Promise<void> {
  const cluster = clusterPath(dataDir);
  if (existsSync(cluster)) {
    await rename(cluster, join(dataDir, `${unfinishedPrefix}${randomUUID()}`));
    syncDirectory(dataDir);
  }
  await removeUnfinished(dataDir);
}

async function initialize(
  directory: string,
  input: { account: Account | undefined; passwordFile: string | undefined },
  binaries: Binaries,
): Promise<void> {
  const lines: string[] = [];
  const given = await giveDirectory(directory, input.account);
  try {
    const auth =
      input.passwordFile === undefined
        ? ["--auth-local=trust", "--auth-host=reject"]
        : ["--auth=scram-sha-256", `--pwfile=${input.passwordFile}`];
    const initdb = await startGuarded({
      file: binaries.initdb,
      args: [
        `--pgdata=${given.path}`,
        `--username=${databaseUser}`,
        "--encoding=UTF8",
        "--locale=C",
        // New 16 MB segments inside a commit made a p99 of 40 ms; with 1 MB it is 10–16 ms from the first second.
        "--wal-segsize=1",
        "--no-instructions",
        ...auth,
      ],
      account: input.account,
      directory: given.descriptor,
      onLine: (line) => lines.push(line),
    });
    const end = await initdb.ended;
    if (end.code !== 0) throw new Error(`creating the database failed: ${explainFailure(lines)}`);
  } finally {
    closeDirectory(given);
  }
}

/**
 * A path by which the account reaches the directory. Where a parent is closed to it (root's home), the directory
 * itself is opened here and inherited: PostgreSQL then names it /proc/self/fd/3, which the kernel resolves
 * without walking the parents. The data so stays where POSTRIDER_DATA_DIR says.
 * @throws when neither works, on systems without /proc.
 */
export async function giveDirectory(
  directory: string,
  account: Account | undefined,
): Promise<GivenDirectory> {
  if (account === undefined || (await canWrite(account, directory))) {
    return { path: directory, descriptor: undefined };
  }
  const inherited = "/proc/self/fd/3";
  const descriptor = openSync(directory, "r");
  if (await canWrite(account, `${inherited}/.`, descriptor)) return { path: inherited, descriptor };
  closeSync(descriptor);
  throw new Error(
    `PostgreSQL refuses to run as root, and user id ${account.uid} cannot reach ${directory}: set POSTRIDER_DATA_DIR to a directory whose parents every user can enter, or start Postrider as an ordinary user`,
  );
}

/** Closes our side of a given directory; the process that inherited it keeps its own. */
export function closeDirectory(given: GivenDirectory): void {
  if (given.descriptor !== undefined) closeSync(given.descriptor);
}

/** A failed program's last words, on one line: those that say why, if any do. */
export function explainFailure(lines: string[]): string {
  const telling = lines.filter((line) => /(error|fatal|panic|could not|cannot|detail|hint)\b/i.test(line));
  return (telling.length > 0 ? telling : lines).slice(-4).join("; ") || "it gave no message";
}

async function unfinishedIn(dataDir: string): Promise<string[]> {
  return (await readdir(dataDir)).filter((name) => name.startsWith(unfinishedPrefix));
}

async function removeUnfinished(dataDir: string): Promise<void> {
  for (const name of await unfinishedIn(dataDir)) {
    // An initdb whose service was killed may still be writing for a moment.
    await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

async function checkVersion(cluster: string, binaries: Binaries): Promise<void> {
  const made = (await readFile(join(cluster, "PG_VERSION"), "utf8").catch(explainUnreadable)).trim();
  if (made === binaries.majorVersion) return;
  throw new Error(
    `the database in ${cluster} was made by PostgreSQL ${made}, and this Postrider brings ${binaries.majorVersion}: start the Postrider that made it, dump the database with pg_dump, and restore it into a new POSTRIDER_DATA_DIR`,
  );
}

function explainUnreadable(cause: NodeJS.ErrnoException): never {
  throw new Error(
    cause.code === "EACCES"
      ? `the database belongs to another user (${cause.message}): start Postrider as that user or as root`
      : `the database cannot be read: ${cause.message}; restore a backup, or start with an empty POSTRIDER_DATA_DIR`,
    { cause },
  );
}
