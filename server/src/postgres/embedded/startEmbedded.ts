import { createHash } from "node:crypto";
import { mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { databaseAccount } from "./account.ts";
import { clusterPath, hasCluster, removeCluster } from "./cluster.ts";
import { lockDirectory, type Taking } from "./directoryLock.ts";
import { stopLeftovers } from "./leftovers.ts";
import { type EmbeddedOptions, EmbeddedServer } from "./embeddedServer.ts";
import { explainFullDisk } from "./serverLog.ts";

/**
 * Starts the service's own PostgreSQL on a data directory, creates the cluster the first time, and keeps PostgreSQL running:
 * when it dies it is restarted, and when this process dies it stops by itself within seconds.
 * @throws {Error} with a sentence for the operator: another service uses the directory, PostgreSQL cannot run here, or
 * PostgreSQL's last messages.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const dataDir = prepareDataDirectory(options.dataDir);
  const unlock = await lockDirectory(dataDir, options.taking).catch((error: unknown) => {
    throw explainFullDisk(error, dataDir);
  });
  try {
    options.signal?.throwIfAborted();
    const account = await databaseAccount(clusterPath(dataDir));
    const server = new EmbeddedServer(options, { dataDir, name: clusterName(dataDir), account, unlock });
    await server.start();
    return server;
  } catch (error) {
    unlock();
    throw explainFullDisk(error, dataDir);
  }
}

/**
 * Removes the database of a data directory with everything in it; the encryption key stays.
 * @returns whether there was one.
 * @throws {Error} with a sentence for the operator when a service uses the directory.
 */
export async function removeEmbedded(path: string, taking: Taking): Promise<boolean> {
  if (!(await hasCluster(path))) return false;
  const dataDir = prepareDataDirectory(path);
  const unlock = await lockDirectory(dataDir, taking);
  try {
    // Another removal may have held the lock.
    if (!(await hasCluster(dataDir))) return false;
    await stopLeftovers(clusterPath(dataDir), clusterName(dataDir), { log: () => undefined });
    await removeCluster(dataDir);
    return true;
  } finally {
    unlock();
  }
}

/** The name of this directory's PostgreSQL in process titles and in the socket's path. */
function clusterName(dataDir: string): string {
  const identity = `${dataDir}\0${statSync(dataDir).ino}`;
  return `postrider-${createHash("sha256").update(identity).digest("hex").slice(0, 12)}`;
}

/**
 * Creates the data directory with its parents if they do not exist, and returns its real path.
 * @throws {Error} with a sentence for the operator.
 */
function prepareDataDirectory(path: string): string {
  try {
    // Root's PostgreSQL runs as another user, which has to pass through this directory; only the owner can list it.
    makeDirectory(path, process.getuid?.() === 0 ? 0o711 : 0o700);
    return realpathSync(path);
  } catch (cause) {
    throw new Error(
      `cannot make the data directory ${path}: ${(cause as Error).message}; set POSTRIDER_DATA_DIR to a directory that this user may write to`,
      { cause },
    );
  }
}

/**
 * Creates a directory with its parents. Node's recursive `mkdirSync` never returns when an existing parent cannot contain
 * directories, as below `/proc`.
 */
function makeDirectory(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // An existing directory, or a link to one, is accepted; for a file or a broken link the error is thrown.
    if (code === "EEXIST" && statSync(path).isDirectory()) return;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    makeDirectory(dirname(path), mode);
    mkdirSync(path, { mode });
  }
}
