import { createHash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { databaseAccount } from "./account.ts";
import { clusterPath } from "./cluster.ts";
import { prepareDataDirectory } from "./dataDirectory.ts";
import { lockDirectory, type Taking } from "./directoryLock.ts";
import { stopLeftovers } from "./leftovers.ts";
import { explainFullDisk } from "./fullDisk.ts";
import { EmbeddedServer, type EmbeddedConnection } from "./embeddedServer.ts";
import { serverSettings } from "./settings.ts";

export interface EmbeddedOptions {
  /** POSTRIDER_DATA_DIR; made when it is missing. The cluster is its folder `postgresql`. */
  dataDir: string;
  log: (level: "info" | "warn" | "error", message: string) => void;
  /** Told what a start waits for, to follow "still". */
  onWait?: (what: string) => void;
  /** Called whenever a start waits for PostgreSQL: time for other work, even if it blocks. */
  whileWaiting?: () => Promise<unknown>;
  /** Ends a start between its steps. */
  signal?: AbortSignal;
  /** Told that PostgreSQL ended unasked, and why. It is being restarted; clients have only to reconnect. */
  onExit?: (reason: string) => void;
  /** Told that it serves again after such an end. */
  onRestart?: () => void;
  /** PostgreSQL settings that replace ours. */
  settings?: Record<string, string>;
  /** The folder of the package with PostgreSQL's programs, for tests of other versions. */
  programs?: string;
  /** How the directory is taken; by a service unless given. */
  taking?: Taking;
  /** How clients reach it; TCP on 127.0.0.1 with a password only where there are no Unix sockets. */
  transport?: "socket" | "tcp";
}

export interface EmbeddedDatabase {
  connection: EmbeddedConnection;
  /** The postmaster's process id; another one after a restart. */
  pid: () => number;
  /** Why it is away, where its log told. */
  trouble: () => Error | undefined;
  /** A fast shutdown: open transactions are rolled back, everything committed is on disk. Safe to repeat. */
  stop: () => Promise<void>;
}

/**
 * Starts the service's own PostgreSQL on a data directory, making the cluster the first time, and keeps it
 * running: when it dies it is restarted, and when this process dies it stops by itself within seconds.
 * @throws a sentence for the operator: another service uses the directory, PostgreSQL cannot run here, or its
 * own last words.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const dataDir = prepareDataDirectory(options.dataDir);
  const unlock = await lockDirectory(dataDir, options.taking).catch((error: unknown) => {
    throw explainFullDisk(error, dataDir);
  });
  try {
    options.signal?.throwIfAborted();
    const server = new EmbeddedServer({
      dataDir,
      name: clusterName(dataDir),
      account: await databaseAccount(clusterPath(dataDir)),
      transport: options.transport ?? (process.platform === "win32" ? "tcp" : "socket"),
      settings: { ...serverSettings(), ...options.settings },
      programs: options.programs,
      log: options.log,
      onWait: options.onWait ?? (() => undefined),
      whileWaiting: options.whileWaiting ?? (() => Promise.resolve()),
      signal: options.signal,
      onExit: options.onExit ?? (() => undefined),
      onRestart: options.onRestart ?? (() => undefined),
    });
    const connection = await server.start();
    return {
      connection,
      pid: () => server.pid(),
      trouble: () => server.trouble(),
      stop: async () => {
        await server.stop();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw explainFullDisk(error, dataDir);
  }
}

/**
 * Removes the database of a data directory with everything in it; the encryption key stays.
 * @returns whether there was one.
 * @throws a sentence for the operator when a service uses the directory.
 */
export async function removeEmbedded(path: string, taking: Taking): Promise<boolean> {
  if (!existsSync(clusterPath(path))) return false;
  const dataDir = prepareDataDirectory(path);
  const unlock = await lockDirectory(dataDir, taking);
  try {
    await stopLeftovers(clusterPath(dataDir), clusterName(dataDir), { log: () => undefined });
    await rm(clusterPath(dataDir), { recursive: true, force: true });
    return true;
  } finally {
    unlock();
  }
}

/** Names this directory's PostgreSQL in process titles and in the socket's path. */
function clusterName(dataDir: string): string {
  const identity = `${dataDir}\0${statSync(dataDir).ino}`;
  return `postrider-${createHash("sha256").update(identity).digest("hex").slice(0, 12)}`;
}
