import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import {
  type GuardedProcess,
  startGuarded,
} from "../../../../server/src/postgres/embedded/guardedProcess.ts";
import { freePort } from "../../../../server/src/postgres/embedded/tcpAccess.ts";
import { databaseName, type Installation, password, settings, superuser } from "./installation.ts";

/** Long: how fast it starts is not what is judged. */
const startLimitMs = 1_200_000;
const restartDelayMs = 300;

export interface ServerInput {
  installation: Installation;
  /** The cluster's directory, which exists. */
  directory: string;
  /** Settings beside the usual ones. */
  settings: Record<string, string>;
  /** File to which the server's log is appended. */
  logFile: string;
}

/** One PostgreSQL on a cluster's directory, started again whenever it ends unasked, as an init system does. */
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

  /** Starts it, keeps it up from now on, and resolves once it answers in this database. */
  async start(database = databaseName): Promise<void> {
    if (this.port === 0) this.port = await freePort();
    this.#isWanted = true;
    await this.#launch();
    await this.answers(database);
  }

  /** Resolves once it answers a query. @throws when it does not for minutes. */
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

  /** Ends it with this signal and leaves it down; resolves once it is gone. */
  async end(signal: "SIGKILL" | "SIGQUIT" | "SIGINT"): Promise<void> {
    this.#isWanted = false;
    const process = this.#process;
    if (process === undefined) return;
    this.signal("SIGCONT");
    process.kill(signal);
    await process.ended;
  }

  /** Without waiting for an end; what ends by it is started again. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** One statement over a connection of its own, which no proxy stands in. */
  async query<Row extends pg.QueryResultRow>(text: string, database = databaseName): Promise<Row[]> {
    return this.session(async (client) => (await client.query<Row>(text)).rows, database);
  }

  /** Work on one connection, which no proxy stands in. */
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
    // Backends of a server that was killed hold its shared memory for a moment; a full disk stays full for longer.
    await delay(restartDelayMs);
    if (this.#isWanted && this.#process === undefined) await this.#launch();
  }
}
