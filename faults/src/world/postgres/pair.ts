import { join } from "node:path";
import { createInTurn, type InTurn } from "../inTurn.ts";
import type { Wire } from "../wire/wire.ts";
import type { Database } from "./database.ts";
import { copyRunning, copyStopped } from "./cluster.ts";
import { type Installation, password, standbyName, superuser } from "./installation.ts";
import { PostgresServer } from "./server.ts";

const attachLimitMs = 1_200_000;

export interface PairInput {
  installation: Installation;
  template: string;
  /** Two folders, each for one server's cluster. */
  folders: readonly [string, string];
  logFolder: string;
  /** Prefix of the log files. */
  name: string;
  /** Settings in addition to the common ones. */
  settings: Record<string, string>;
  /** Connection from the standby to the primary. */
  replication: Wire;
  /** Connections to the primary, when the primary is the server in this folder. */
  wiresTo: (folder: 0 | 1) => readonly Wire[];
  /** Called when the server in this folder has become the primary. */
  onPromoted: (folder: 0 | 1) => Promise<void>;
}

/**
 * A primary with a synchronous standby, so that an acknowledged commit is on both servers. Commits wait while the
 * standby is away; no commit is acknowledged by one server alone, even after the primary was lost.
 */
export class PostgresPair implements Database {
  readonly nodes = { primary: this };
  primary: PostgresServer;
  standby: PostgresServer;
  /** Serializes actions that end, start or replace servers. */
  readonly inTurn: InTurn = createInTurn();
  readonly #input: PairInput;

  private constructor(input: PairInput) {
    this.#input = input;
    this.primary = this.#server(join(input.folders[0], "a"));
    this.standby = this.#server(join(input.folders[1], "b"));
  }

  static async start(input: PairInput): Promise<PostgresPair> {
    const pair = new PostgresPair(input);
    await copyStopped(input.template, pair.primary.directory, input.installation.account);
    await pair.primary.start();
    pair.#lead();
    await pair.#attachStandby();
    return pair;
  }

  /** Destroys the primary, promotes the standby, and builds a new standby in place of the lost server. */
  promote(): Promise<void> {
    return this.inTurn(() => this.#promote());
  }

  async #promote(): Promise<void> {
    const lost = this.primary;
    for (const wire of this.#wires(lost)) {
      wire.to = undefined;
      wire.cut();
    }
    // Fencing: the lost primary can no longer accept a connection.
    await lost.end("SIGQUIT");
    this.standby.signal("SIGCONT");
    await this.standby.answers();
    await this.standby.query("select pg_promote(true, 240)");
    this.primary = this.standby;
    this.#lead();
    await this.#input.onPromoted(this.#folderOf(this.primary));
    this.standby = this.#server(lost.directory);
    await this.#attachStandby();
  }

  /** Resolves once both servers serve and commits of the primary wait for the standby. */
  isWhole(): Promise<void> {
    return this.inTurn(() => this.#isWhole());
  }

  async #isWhole(): Promise<void> {
    this.primary.signal("SIGCONT");
    this.standby.signal("SIGCONT");
    await this.primary.answers();
    await this.standby.answers();
    const deadlineMs = performance.now() + attachLimitMs;
    for (;;) {
      const rows = await this.primary
        .query("select from pg_stat_replication where sync_state = 'sync' and state = 'streaming'")
        .catch(() => []);
      if (rows.length > 0) return;
      if (performance.now() > deadlineMs) throw new Error("the standby does not come back to its primary");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async stop(): Promise<void> {
    await Promise.all([this.primary.end("SIGQUIT"), this.standby.end("SIGQUIT")]);
  }

  /** Directs all wires to the current primary. */
  #lead(): void {
    for (const wire of this.#wires(this.primary)) wire.to = this.primary.port;
  }

  async #attachStandby(): Promise<void> {
    const { installation } = this.#input;
    await copyRunning(this.primary, this.standby.directory, installation.account);
    await this.standby.start();
  }

  #wires(primary: PostgresServer): Wire[] {
    return [this.#input.replication, ...this.#input.wiresTo(this.#folderOf(primary))];
  }

  #folderOf({ directory }: PostgresServer): 0 | 1 {
    return directory.startsWith(`${this.#input.folders[0]}/`) ? 0 : 1;
  }

  #server(directory: string): PostgresServer {
    const { installation, logFolder, name, settings, replication } = this.#input;
    const conninfo = `host=127.0.0.1 port=${replication.port} user=${superuser} password=${password} application_name=${standbyName} connect_timeout=3`;
    return new PostgresServer({
      installation,
      directory,
      logFile: join(logFolder, `${name}-${directory.split("/").at(-1)}.log`),
      settings: { ...settings, synchronous_standby_names: standbyName, primary_conninfo: conninfo },
    });
  }
}
