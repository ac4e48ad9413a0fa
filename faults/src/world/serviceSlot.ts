import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { type ServiceProcess, startService } from "../../../server/test/support/serviceProcess.ts";
import { root } from "../../../server/scripts/bundlePrograms.ts";
import type { ProcessEnd } from "../history/history.ts";
import { createInTurn, type InTurn } from "./inTurn.ts";
import { urlAt } from "./postgres/installation.ts";
import type { Wire } from "./wire/wire.ts";

export type Version = "this" | "before";

export interface SlotInput {
  name: string;
  /** Called at each end of a process, requested or not. */
  onEnd: (end: Omit<ProcessEnd, "atMs">) => void;
  logFolder: string;
  /** Connections from clients to the process, and from the process to the database. */
  clients: Wire;
  database: Wire;
  /** Settings in addition to those of every process. */
  env: Record<string, string>;
  /** Path of each version's command; undefined for the current version's bundle that tests use. */
  commands: Record<Version, string | undefined>;
}

/** Long, because the duration of a start is not checked, and the database may lack its standby meanwhile. */
const startLimitMs = 1_200_000;
const skewFile = pathToFileURL(join(root, "faults/src/world/skewClock.ts")).href;

/** Runs one process of the service, and starts it again whenever it ends, as an init system does. */
export class ServiceSlot {
  readonly name: string;
  readonly clients: Wire;
  readonly database: Wire;
  /** Serializes actions that end or start the process. */
  readonly inTurn: InTurn = createInTurn();
  version: Version = "this";
  /** Error of the process's clock, in milliseconds. */
  skewMs = 0;
  readonly #input: SlotInput;
  #process: ServiceProcess | undefined;
  /** Whether the current end was requested. */
  #isEndAsked = false;
  #isClosed = false;

  constructor(input: SlotInput) {
    this.#input = input;
    this.name = input.name;
    this.clients = input.clients;
    this.database = input.database;
  }

  get #logFile(): string {
    return join(this.#input.logFolder, `${this.name}.log`);
  }

  get url(): string {
    return `http://127.0.0.1:${this.clients.port}`;
  }

  /** Starts processes until one serves. @throws when none serves for minutes, or the slot was closed. */
  async start(): Promise<void> {
    const deadlineMs = performance.now() + startLimitMs;
    for (;;) {
      if (this.#isClosed) throw new Error(`${this.name} was closed`);
      try {
        this.#isEndAsked = false;
        const launched = await this.#launch();
        if (this.#isClosed) launched.kill("SIGKILL");
        this.#process = launched;
        this.clients.to = this.#process.port;
        this.#watch(this.#process);
        return;
      } catch (error) {
        this.#input.onEnd({
          service: this.name,
          isAsked: false,
          isStarting: true,
          how: "did not start",
          lastWords: (error as Error).message.slice(-2_000),
        });
        if (performance.now() > deadlineMs) throw error;
        await delay(200);
      }
    }
  }

  /** Sends a signal that does not end the process. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#process?.kill(signal);
  }

  /** Ends the process without restarting it. SIGTERM stops it gracefully. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const process = this.#process;
    if (process === undefined || !process.isRunning()) return;
    this.#isEndAsked = true;
    process.kill("SIGCONT");
    if (signal === "SIGTERM") await process.stop();
    else {
      process.kill(signal);
      await process.ended;
    }
    this.clients.to = undefined;
  }

  /** Resolves once the process serves; starts one if none runs. */
  async serves(): Promise<void> {
    if (this.#process?.isRunning() !== true) await this.start();
  }

  /** Resolves once a process of the current version serves. */
  async upgrade(): Promise<void> {
    if (this.version === "before") await this.end("SIGTERM");
    this.version = "this";
    await this.serves();
  }

  /** Resolves once a process with a correct clock serves. */
  async rightClock(): Promise<void> {
    if (this.skewMs === 0) return;
    this.skewMs = 0;
    await this.end("SIGTERM");
    await this.serves();
  }

  /** Returns everything that its processes have written so far. */
  said(): string {
    const file = this.#logFile;
    return (existsSync(file) ? readFileSync(file, "utf8") : "") + (this.#process?.output() ?? "");
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.end("SIGKILL");
  }

  #launch(): Promise<ServiceProcess> {
    const { database, env, commands } = this.#input;
    const command = commands[this.version];
    return startService({
      storage: { databaseUrl: urlAt(database.port) },
      env: {
        ...env,
        ...(this.skewMs !== 0 && {
          SKEW_CLOCK_MS: String(this.skewMs),
          NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --import=${skewFile}`.trim(),
        }),
      },
      ...(command !== undefined && { command }),
      startLimitMs,
    });
  }

  #watch(child: ServiceProcess): void {
    void child.ended.then((code) => {
      const said = child.output();
      appendFileSync(this.#logFile, `${said}\n--- ended with ${code}\n`);
      const isAsked = this.#isEndAsked;
      this.#input.onEnd({
        service: this.name,
        isAsked,
        isStarting: false,
        how: code === null ? "signal" : `code ${code}`,
        lastWords: isAsked ? "" : said.slice(-2_000),
      });
      if (!isAsked && !this.#isClosed && this.#process === child)
        void this.inTurn(() => (this.#process === child ? this.start() : Promise.resolve())).catch(
          () => undefined,
        );
    });
  }
}
