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

/** A directory in the form that is passed to PostgreSQL: a path, or an open descriptor that PostgreSQL inherits. */
export interface GivenDirectory {
  path: string;
  /** If set, it is passed as descriptor 3. */
  descriptor: number | undefined;
}

/** The path of the cluster in a data directory. */
export function clusterPath(dataDir: string): string {
  return join(dataDir, "postgresql");
}

/**
 * Creates the cluster unless it exists. It is created in a temporary directory and renamed when it is complete and on disk,
 * so that an interruption leaves either no cluster or a complete one; the remains of an interrupted run are removed.
 * @param passwordFile has the superuser's password, when the cluster is reached over TCP.
 * @returns whether the cluster was created; it then has no database of the service yet.
 * @throws with the last messages of initdb, or when the existing cluster has another major version.
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

/** Whether a data directory has a cluster, or the remains of one. */
export async function hasCluster(dataDir: string): Promise<boolean> {
  if (existsSync(clusterPath(dataDir))) return true;
  return existsSync(dataDir) && (await unfinishedIn(dataDir)).length > 0;
}

/**
 * Removes the cluster. After an interruption the cluster is either complete or marked as unfinished, and the next start or
 * removal deletes an unfinished one.
 */
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
        // Creating 16 MB WAL segments during commits caused a p99 of 40 ms; with 1 MB segments it is 10–16 ms from the first
        // second.
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
 * Returns a path by which the account reaches the directory. When a parent directory is closed to the account (root's home),
 * the directory is opened here and inherited: PostgreSQL then uses the path /proc/self/fd/3, which the kernel resolves
 * without visiting the parent directories. So the data stays in POSTRIDER_DATA_DIR.
 * @throws when neither works, as on systems without /proc.
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

/** Closes this process's descriptor of the directory; the process that inherited it keeps its own. */
export function closeDirectory(given: GivenDirectory): void {
  if (given.descriptor !== undefined) closeSync(given.descriptor);
}

/** The last messages of a failed program, on one line: those that look like reasons, if there are any. */
export function explainFailure(lines: string[]): string {
  const telling = lines.filter((line) => /(error|fatal|panic|could not|cannot|detail|hint)\b/i.test(line));
  const reason = (telling.length > 0 ? telling : lines).slice(-4).join("; ") || "no message";
  return /file descriptors/.test(reason) ? `${reason} Raise the limit of open files (ulimit -n).` : reason;
}

async function unfinishedIn(dataDir: string): Promise<string[]> {
  return (await readdir(dataDir)).filter((name) => name.startsWith(unfinishedPrefix));
}

async function removeUnfinished(dataDir: string): Promise<void> {
  for (const name of await unfinishedIn(dataDir)) {
    // An initdb may still be writing for a moment after its service was killed.
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
