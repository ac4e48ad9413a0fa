import { createHash } from "node:crypto";
import { mkdirSync, realpathSync, statSync } from "node:fs";
import { databaseAccount } from "./account.ts";
import { clusterPath } from "./cluster.ts";
import { lockDirectory } from "./directoryLock.ts";
import { EmbeddedServer, type EmbeddedConnection } from "./embeddedServer.ts";
import { serverSettings } from "./settings.ts";

export interface EmbeddedOptions {
  /** POSTRIDER_DATA_DIR; made when it is missing. The cluster is its folder `postgresql`. */
  dataDir: string;
  log: (level: "info" | "warn" | "error", message: string) => void;
  /** Told that PostgreSQL ended unasked, and why. It is being restarted; clients have only to reconnect. */
  onExit?: (reason: string) => void;
  /** Told that it serves again after such an end. */
  onRestart?: () => void;
  /** PostgreSQL settings that replace ours, for tests. */
  settings?: Record<string, string>;
  /** How clients reach it; TCP on 127.0.0.1 with a password only where there are no Unix sockets. */
  transport?: "socket" | "tcp";
}

export interface EmbeddedDatabase {
  connection: EmbeddedConnection;
  /** The postmaster's process id; another one after a restart. */
  pid: () => number;
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
  const unlock = await lockDirectory(dataDir);
  try {
    const server = new EmbeddedServer({
      dataDir,
      name: clusterName(dataDir),
      account: await databaseAccount(clusterPath(dataDir)),
      transport: options.transport ?? (process.platform === "win32" ? "tcp" : "socket"),
      settings: { ...serverSettings(), ...options.settings },
      log: options.log,
      onExit: options.onExit ?? (() => undefined),
      onRestart: options.onRestart ?? (() => undefined),
    });
    const connection = await server.start();
    return {
      connection,
      pid: () => server.pid(),
      stop: async () => {
        await server.stop();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

function prepareDataDirectory(path: string): string {
  try {
    // Root's PostgreSQL runs as another user, which has to pass through; nobody but the owner can list it.
    mkdirSync(path, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
    return realpathSync(path);
  } catch (cause) {
    throw new Error(`cannot make the data directory ${path}: ${(cause as Error).message}`, { cause });
  }
}

/** Names this directory's PostgreSQL in process titles and in the socket's path. */
function clusterName(dataDir: string): string {
  const identity = `${dataDir}\0${statSync(dataDir).ino}`;
  return `postrider-${createHash("sha256").update(identity).digest("hex").slice(0, 12)}`;
}
