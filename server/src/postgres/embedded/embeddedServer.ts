import { rmdir } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
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
import { type DiskWatch, watchDisk } from "./fullDisk.ts";
import { startGuarded, type GuardedProcess } from "./guardedProcess.ts";
import { stopLeftovers } from "./leftovers.ts";
import { waitUntilReady } from "./readiness.ts";
import { followServerLog } from "./serverLog.ts";
import { prepareSocketDirectory } from "./socketDirectory.ts";
import { shutDown } from "./shutDown.ts";
import { prepareTcpAccess, type TcpAccess } from "./tcpAccess.ts";

/** How to connect; `host` is the socket's directory, or 127.0.0.1 with a password where there are no Unix sockets. */
export interface EmbeddedConnection {
  host: string;
  port: number;
  user: string;
  database: string;
  password?: string;
}

export interface EmbeddedServerInput {
  dataDir: string;
  /** The cluster_name, and the last part of the socket's directory. */
  name: string;
  account: Account | undefined;
  transport: "socket" | "tcp";
  settings: Record<string, string>;
  /** The folder of another package of programs than the installed one of this platform. */
  programs: string | undefined;
  log: (level: "info" | "warn" | "error", message: string) => void;
  /** Told what a launch waits for. */
  onWait: (what: string) => void;
  /** Called whenever a launch waits for PostgreSQL. */
  whileWaiting: () => Promise<unknown>;
  /** Ends the first start between its steps. */
  signal: AbortSignal | undefined;
  onExit: (reason: string) => void;
  onRestart: () => void;
}

const socketPort = 5432;
const backoffMs = [0, 100, 250, 500, 1_000, 2_500, 5_000, 10_000];
/** A server that lived this long ended for a new reason: the backoff begins anew. */
const settledMs = 60_000;

/** The supervised PostgreSQL process of one data directory, which the caller has locked. */
export class EmbeddedServer {
  readonly #input: EmbeddedServerInput;
  #process: GuardedProcess | undefined;
  #socketDirectory: string | undefined;
  #tcp: TcpAccess | undefined;
  #stopping = new AbortController();
  #supervision: Promise<void> = Promise.resolve();
  readonly #disk: DiskWatch;

  constructor(input: EmbeddedServerInput) {
    this.#input = input;
    this.#disk = watchDisk(input.dataDir, (message) => input.log("error", message));
  }

  /** Starts it and resolves once it serves. */
  async start(): Promise<EmbeddedConnection> {
    if (this.#input.transport === "tcp") this.#tcp = await prepareTcpAccess(this.#input.dataDir);
    const server = await this.#launch().catch(async (error: unknown) => {
      await this.#removeSocketDirectory();
      throw error;
    });
    this.#supervision = this.#supervise(server);
    return this.#connection();
  }

  pid(): number {
    if (this.#process === undefined) throw new Error("the database is not running");
    return this.#process.pid;
  }

  /** Why it is away, where its log told. */
  trouble(): Error | undefined {
    return this.#disk.trouble();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    const server = this.#process;
    if (server !== undefined) await shutDown(server, clusterPath(this.#input.dataDir), this.#input.log);
    await this.#supervision;
    await this.#removeSocketDirectory();
  }

  async #supervise(first: Launched): Promise<void> {
    let server = first;
    let failures = 0;
    for (;;) {
      const startedAt = Date.now();
      const end = await server.process.ended;
      this.#process = undefined;
      if (this.#stopping.signal.aborted) return;
      const how = end.signal === null ? `code ${end.code}` : end.signal;
      this.#report(`PostgreSQL ended unasked (${how}); restarting it`);
      if (Date.now() - startedAt > settledMs) failures = 0;
      const next = await this.#relaunch(failures);
      if (next === undefined) return;
      if (this.#stopping.signal.aborted) {
        // The stop was asked for while it started.
        await shutDown(next.launched.process, clusterPath(this.#input.dataDir), this.#input.log);
        return;
      }
      failures = next.failures + 1;
      server = next.launched;
      this.#input.log("info", "PostgreSQL serves again");
      this.#input.onRestart();
    }
  }

  /** Tries until it serves or a stop is asked for. */
  async #relaunch(failuresSoFar: number): Promise<{ launched: Launched; failures: number } | undefined> {
    for (let failures = failuresSoFar; ; failures++) {
      try {
        await delay(backoffMs[Math.min(failures, backoffMs.length - 1)], undefined, {
          signal: this.#stopping.signal,
        });
        return { launched: await this.#launch(), failures };
      } catch (error) {
        if (this.#stopping.signal.aborted) return undefined;
        this.#input.log("error", `${(error as Error).message}; trying again`);
      }
    }
  }

  async #launch(): Promise<Launched> {
    const { dataDir, name, account, programs, log, onWait, whileWaiting, signal } = this.#input;
    const info = (message: string): void => {
      log("info", message);
      onWait(message);
    };
    // Found anew at each start: the copy that root runs from is a cache, and caches are cleaned.
    const binaries = await locateBinaries(account, programs);
    const passwordFile = this.#tcp?.passwordFile;
    const isNew = await ensureCluster({ dataDir, account, passwordFile }, binaries, info);
    const cluster = clusterPath(dataDir);
    signal?.throwIfAborted();
    await stopLeftovers(cluster, name, { log: info, whileWaiting });
    if (this.#tcp === undefined) {
      this.#socketDirectory = await prepareSocketDirectory(name, account, this.#socketDirectory);
    }
    const serverLog = followServerLog(log);
    const given = await giveDirectory(cluster, account);
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
    await whileWaiting();
    await this.#untilReady(process, serverLog.lastLines, isNew);
    return { process, lastLines: serverLog.lastLines };
  }

  async #untilReady(process: GuardedProcess, lastLines: string[], isNew: boolean): Promise<void> {
    let running = true;
    void process.ended.then(() => (running = false));
    const info = (message: string): void => {
      this.#input.log("info", message);
      this.#input.onWait(message);
    };
    try {
      if (await waitUntilReady({ connection: this.#connection(), isNew, running: () => running, log: info }))
        return;
    } catch (error) {
      await shutDown(process, clusterPath(this.#input.dataDir), this.#input.log);
      this.#process = undefined;
      throw error;
    }
    this.#process = undefined;
    await process.ended;
    throw new Error(
      `PostgreSQL does not start in ${clusterPath(this.#input.dataDir)}: ${explainFailure(lastLines)}`,
    );
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
      ...this.#input.settings,
      ...access,
      port: String(this.#connection().port),
      cluster_name: this.#input.name,
    };
    return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  }

  #connection(): EmbeddedConnection {
    const identity = { user: databaseUser, database: databaseName };
    if (this.#tcp === undefined)
      return { host: this.#socketDirectory as string, port: socketPort, ...identity };
    return { host: "127.0.0.1", port: this.#tcp.port, ...identity, password: this.#tcp.password };
  }

  #report(reason: string): void {
    this.#input.log("error", reason);
    this.#input.onExit(reason);
  }
}

interface Launched {
  process: GuardedProcess;
  /** The last lines of its output; grows as it writes. */
  lastLines: string[];
}
