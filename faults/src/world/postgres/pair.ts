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
  /** Two of them, each of which holds a server's cluster. */
  folders: readonly [string, string];
  logFolder: string;
  /** Begins the names of its logs. */
  name: string;
  /** Settings beside the usual ones. */
  settings: Record<string, string>;
  /** From the standby to the primary. */
  replication: Wire;
  /** To the primary, while the server in the folder of this number is that. */
  wiresTo: (folder: 0 | 1) => readonly Wire[];
  /** Tells others that the server in this folder is the primary now. */
  onPromoted: (folder: 0 | 1) => Promise<void>;
}

/**
 * A primary and a standby that it waits for with each commit, so that an acknowledged commit is on both. Commits wait
 * while the standby is away, and nothing is committed alone, not even after the primary was lost.
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

  /** Loses the primary for good, makes the standby primary, and builds another standby in the place of the lost. */
  promote(): Promise<void> {
    return this.inTurn(() => this.#promote());
  }

  async #promote(): Promise<void> {
    const lost = this.primary;
    for (const wire of this.#wires(lost)) {
      wire.to = undefined;
      wire.cut();
    }
    // The fence: nobody may talk to it again.
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

  /** Resolves once both serve and the primary waits for the standby. */
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

  /** Lets everybody find the primary. */
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
