import { existsSync } from "node:fs";
import { rmdir } from "node:fs/promises";
import { totalmem } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { within } from "../../runtime/within.ts";
import type { Account } from "./account.ts";
import { locateBinaries } from "./binaries.ts";
import {
  closeDirectory,
  clusterPath,
  databaseName,
  databaseUser,
  ensureCluster,
  explainFailure,
  giveDirectory,
} from "./cluster.ts";
import type { Taking } from "./directoryLock.ts";
import { startGuarded, type GuardedProcess } from "./guardedProcess.ts";
import { stopLeftovers } from "./leftovers.ts";
import { waitUntilReady } from "./readiness.ts";
import type { ServerConnection } from "../pool.ts";
import { followServerLog, watchDisk } from "./serverLog.ts";
import { prepareSocketDirectory } from "./socketDirectory.ts";
import { prepareTcpAccess, type TcpAccess } from "./tcpAccess.ts";

export interface EmbeddedOptions {
  /** POSTRIDER_DATA_DIR; created when it does not exist. The cluster is in its folder `postgresql`. */
  dataDir: string;
  log: (level: "info" | "warn" | "error", message: string) => void;
  /** Called with the reason for which a start waits, as a text to follow "still". */
  onWait?: (what: string) => void;
  /** Called whenever a start waits for PostgreSQL, so that other work can be done in that time, even blocking work. */
  whileWaiting?: (() => Promise<unknown>) | undefined;
  /** Aborts the first start between two steps. */
  signal?: AbortSignal | undefined;
  /** PostgreSQL settings that override the service's settings. */
  settings?: Record<string, string>;
  /** The folder of the package with PostgreSQL's programs, for tests of other versions. */
  programs?: string;
  /** Options for locking the directory; by default a service locks it. */
  taking?: Taking | undefined;
  /**
   * How clients reach the server: by default over TCP on 127.0.0.1 with a password where there are no Unix sockets, otherwise
   * over a socket.
   */
  transport?: "socket" | "tcp";
}

/** The data directory, name and account of the cluster. */
interface Place {
  dataDir: string;
  /** The cluster_name, and the last part of the socket directory's path. */
  name: string;
  account: Account | undefined;
  /** Unlocks the data directory. */
  unlock: () => void;
}

const socketPort = 5432;
const backoffMs = [0, 100, 250, 500, 1_000, 2_500, 5_000, 10_000];
/** When a server ran for this long, its end has a new reason, and the backoff starts again. */
const settledMs = 60_000;

/** The supervised PostgreSQL process of one data directory, which the caller has locked. */
export class EmbeddedServer {
  readonly #options: EmbeddedOptions;
  readonly #place: Place;
  readonly #cluster: string;
  #process: GuardedProcess | undefined;
  #socketDirectory: string | undefined;
  #tcp: TcpAccess | undefined;
  #stopping = new AbortController();
  #supervision: Promise<void> = Promise.resolve();
  readonly #disk: ReturnType<typeof watchDisk>;

  constructor(options: EmbeddedOptions, place: Place) {
    this.#options = options;
    this.#place = place;
    this.#cluster = clusterPath(place.dataDir);
    this.#disk = watchDisk(place.dataDir, (message) => options.log("error", message));
  }

  /** Starts the server and resolves when it accepts connections. */
  async start(): Promise<void> {
    const { transport = process.platform === "win32" ? "tcp" : "socket" } = this.#options;
    if (transport === "tcp") this.#tcp = await prepareTcpAccess(this.#place.dataDir);
    const server = await this.#launch().catch(async (error: unknown) => {
      await this.#removeSocketDirectory();
      throw error;
    });
    this.#supervision = this.#supervise(server);
  }

  /** The postmaster's process id; it changes after a restart. */
  pid(): number {
    if (this.#process === undefined) throw new Error("the database is not running");
    return this.#process.pid;
  }

  /** Why the server cannot be reached, if its log says so. */
  trouble(): Error | undefined {
    return this.#disk.trouble();
  }

  /** A fast shutdown: open transactions are rolled back, everything committed is on disk. Safe to repeat. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const server = this.#process;
    if (server !== undefined) await shutDown(server, this.#cluster, this.#options.log);
    await this.#supervision;
    await this.#removeSocketDirectory();
    this.#place.unlock();
  }

  async #supervise(first: Launched): Promise<void> {
    let server = first;
    let failures = 0;
    for (;;) {
      const startedAt = performance.now();
      const end = await server.process.ended;
      this.#process = undefined;
      if (this.#stopping.signal.aborted) return;
      const how = end.signal === null ? `code ${end.code}` : end.signal;
      this.#options.log("error", `PostgreSQL ended unexpectedly (${how}); restarting it`);
      if (performance.now() - startedAt > settledMs) failures = 0;
      const next = await this.#relaunch(failures);
      if (next === undefined) return;
      if (this.#stopping.signal.aborted) {
        // `stop` was called during the start.
        await shutDown(next.launched.process, this.#cluster, this.#options.log);
        return;
      }
      failures = next.failures + 1;
      server = next.launched;
      this.#options.log("info", "PostgreSQL serves again");
    }
  }

  /** Starts the server again and again until it accepts connections or `stop` is called. */
  async #relaunch(failuresSoFar: number): Promise<{ launched: Launched; failures: number } | undefined> {
    for (let failures = failuresSoFar; ; failures++) {
      try {
        await delay(backoffMs[Math.min(failures, backoffMs.length - 1)], undefined, {
          signal: this.#stopping.signal,
        });
        return { launched: await this.#launch(), failures };
      } catch (error) {
        if (this.#stopping.signal.aborted) return undefined;
        this.#options.log("error", `${(error as Error).message}; trying again`);
      }
    }
  }

  async #launch(): Promise<Launched> {
    const { programs, log, whileWaiting, signal } = this.#options;
    const { dataDir, name, account } = this.#place;
    // Located again at each start: the copy that root runs is a cache, and caches may be cleaned.
    const binaries = await locateBinaries(account, programs);
    const passwordFile = this.#tcp?.passwordFile;
    const isNew = await ensureCluster({ dataDir, account, passwordFile }, binaries, this.#info);
    signal?.throwIfAborted();
    await stopLeftovers(this.#cluster, name, { log: this.#info, whileWaiting });
    if (this.#tcp === undefined) {
      this.#socketDirectory = await prepareSocketDirectory(name, account, this.#socketDirectory);
    }
    const serverLog = followServerLog(log);
    const given = await giveDirectory(this.#cluster, account);
    const process = await startGuarded({
      file: binaries.postgres,
      args: ["-D", given.path, ...this.#arguments()],
      account,
      directory: given.descriptor,
      onLine: (line) => {
        this.#disk.hear(line);
        serverLog.onLine(line);
      },
    }).finally(() => closeDirectory(given));
    this.#process = process;
    await this.#untilReady(process, serverLog.lastLines, isNew);
    return { process, lastLines: serverLog.lastLines };
  }

  async #untilReady(process: GuardedProcess, lastLines: string[], isNew: boolean): Promise<void> {
    let running = true;
    void process.ended.then(() => (running = false));
    try {
      await this.#options.whileWaiting?.();
      const start = { connection: this.connection, isNew, running: () => running, log: this.#info };
      if (await waitUntilReady(start)) return;
    } catch (error) {
      await shutDown(process, this.#cluster, this.#options.log);
      this.#process = undefined;
      throw error;
    }
    this.#process = undefined;
    await process.ended;
    throw new Error(`PostgreSQL does not start in ${this.#cluster}: ${explainFailure(lastLines)}`);
  }

  async #removeSocketDirectory(): Promise<void> {
    if (this.#socketDirectory !== undefined) await rmdir(this.#socketDirectory).catch(() => undefined);
  }

  #arguments(): string[] {
    const access: Record<string, string> =
      this.#tcp === undefined
        ? {
            listen_addresses: "",
            unix_socket_directories: this.#socketDirectory as string,
            unix_socket_permissions: "0700",
          }
        : { listen_addresses: "127.0.0.1", unix_socket_directories: "" };
    const settings = {
      ...serverSettings(),
      ...this.#options.settings,
      ...access,
      port: String(this.connection.port),
      cluster_name: this.#place.name,
    };
    return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  }

  /** The address of the server; it stays the same after a restart. */
  get connection(): ServerConnection {
    const identity = { user: databaseUser, database: databaseName };
    if (this.#tcp === undefined)
      return { host: this.#socketDirectory as string, port: socketPort, ...identity };
    return { host: "127.0.0.1", port: this.#tcp.port, ...identity, password: this.#tcp.password };
  }

  readonly #info = (message: string): void => {
    this.#options.log("info", message);
    this.#options.onWait?.(message);
  };
}

interface Launched {
  process: GuardedProcess;
  /** The last lines of its output; updated while it writes. */
  lastLines: string[];
}

const megabyte = 2 ** 20;

/**
 * The server's settings, named as in PostgreSQL. They are given on the command line at every start, so that they belong to
 * the version of the service and not to the cluster.
 */
function serverSettings(): Record<string, string> {
  const sharedBuffersMb = Math.max(32, Math.min(256, Math.floor(availableMemory() / megabyte / 8)));
  return {
    fsync: "on",
    synchronous_commit: "on",
    full_page_writes: "on",
    shared_buffers: `${sharedBuffersMb}MB`,
    max_connections: "60",
    // Keeps recycled WAL segments: creating a new one during a commit is what costs latency.
    min_wal_size: "1GB",
    max_wal_size: "4GB",
    checkpoint_timeout: "15min",
    autovacuum_naptime: "5s",
    jit: "off",
    timezone: "UTC",
    log_timezone: "UTC",
    // Statements and details can contain payloads, so they are not logged.
    log_min_messages: "warning",
    log_min_error_statement: "panic",
    log_error_verbosity: "terse",
    log_checkpoints: "off",
    log_line_prefix: "",
    logging_collector: "off",
    log_destination: "stderr",
  };
}

/** The container's memory limit where there is one, in bytes. */
function availableMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** How long to wait for a fast shutdown, which writes a checkpoint; a slow disk may need this long. */
const fastMs = 30_000;
const immediateMs = 6_000;

/**
 * Shuts PostgreSQL down: fast, then immediately (nothing committed is lost; the next start recovers), then with SIGKILL.
 * Warns if the shutdown was not clean.
 */
async function shutDown(
  server: GuardedProcess,
  cluster: string,
  log: (level: "warn", message: string) => void,
): Promise<void> {
  // Windows has no SIGINT: there PostgreSQL ends at once, and recovers from its WAL at the next start.
  server.kill("SIGINT");
  const isEnded = server.ended.then(() => true);
  if (!(await within(fastMs, isEnded, false))) {
    log("warn", `PostgreSQL did not shut down within ${fastMs / 1_000} s; stopping it at once`);
    server.kill("SIGQUIT");
    if (!(await within(immediateMs, isEnded, false))) server.kill("SIGKILL");
  }
  const end = await server.ended;
  if (end.code !== 0 || existsSync(join(cluster, "postmaster.pid"))) {
    log("warn", "PostgreSQL was not shut down cleanly; it will recover from its WAL at the next start");
  }
}
