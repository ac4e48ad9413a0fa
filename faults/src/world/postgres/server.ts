import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import {
  type GuardedProcess,
  startGuarded,
} from "../../../../server/src/postgres/embedded/guardedProcess.ts";
import { freePort } from "../../../../server/src/postgres/embedded/tcpAccess.ts";
import { databaseName, type Installation, password, settings, superuser } from "./installation.ts";

/** Long, because the duration of a start is not checked. */
const startLimitMs = 1_200_000;
const restartDelayMs = 300;

export interface ServerInput {
  installation: Installation;
  /** The cluster's existing directory. */
  directory: string;
  /** Settings in addition to the common ones. */
  settings: Record<string, string>;
  /** File to which the server's log is appended. */
  logFile: string;
}

/**
 * One PostgreSQL server on a cluster's directory. It is started again whenever it ends by itself, as an init
 * system does.
 */
export class PostgresServer {
  readonly directory: string;
  readonly #input: ServerInput;
  port = 0;
  #process: GuardedProcess | undefined;
  #isWanted = false;

  constructor(input: ServerInput) {
    this.#input = input;
    this.directory = input.directory;
  }

  /** Starts the server, restarts it when it ends from now on, and resolves once it answers in this database. */
  async start(database = databaseName): Promise<void> {
    if (this.port === 0) this.port = await freePort();
    this.#isWanted = true;
    await this.#launch();
    await this.answers(database);
  }

  /** Resolves once the server answers a query. @throws when it does not for minutes. */
  async answers(database = databaseName): Promise<void> {
    const deadlineMs = performance.now() + startLimitMs;
    for (;;) {
      try {
        await this.query("select 1", database);
        return;
      } catch (error) {
        if (performance.now() > deadlineMs)
          throw new Error(`PostgreSQL in ${this.directory} does not answer: ${(error as Error).message}`, {
            cause: error,
          });
        await delay(50);
      }
    }
  }

  /** Ends the server with this signal and does not restart it; resolves once it has ended. */
  async end(signal: "SIGKILL" | "SIGQUIT" | "SIGINT"): Promise<void> {
    this.#isWanted = false;
    const process = this.#process;
    if (process === undefined) return;
    this.signal("SIGCONT");
    process.kill(signal);
    await process.ended;
  }

  /** Sends a signal without waiting. A server that ends by the signal is started again. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** Runs one statement on a connection of its own, without a proxy. */
  async query<Row extends pg.QueryResultRow>(text: string, database = databaseName): Promise<Row[]> {
    return this.session(async (client) => (await client.query<Row>(text)).rows, database);
  }

  /** Runs work on one connection, without a proxy. */
  async session<T>(work: (client: pg.Client) => Promise<T>, database = databaseName): Promise<T> {
    const client = new pg.Client({
      host: "127.0.0.1",
      port: this.port,
      user: superuser,
      password,
      database,
      application_name: "supervisor",
      connectionTimeoutMillis: 30_000,
      query_timeout: 300_000,
    });
    client.on("error", () => undefined);
    try {
      await client.connect();
      return await work(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async #launch(): Promise<void> {
    const { installation, directory, logFile } = this.#input;
    const all = { ...settings, ...this.#input.settings, port: String(this.port) };
    const process = await startGuarded({
      file: installation.binaries.postgres,
      args: ["-D", directory, ...Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
      account: installation.account,
      directory: undefined,
      onLine: (line) => appendFileSync(logFile, `${line}\n`),
    });
    this.#process = process;
    void process.ended.then(() => this.#relaunch(process));
  }

  async #relaunch(ended: GuardedProcess): Promise<void> {
    if (this.#process === ended) this.#process = undefined;
    // Backends of a killed server keep its shared memory for a moment, and a full disk stays full for longer: a
    // start is retried.
    await delay(restartDelayMs);
    if (this.#isWanted && this.#process === undefined) await this.#launch();
  }
}
