import type pg from "pg";
import type { Config } from "../config/config.ts";
import type { ReadTurns } from "../http/contract/readTurns.ts";
import type { ParsedNetworks } from "../outbound/addressGuard.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { Cells } from "../postgres/cells.ts";
import type { Queries } from "../postgres/tables.ts";
import type { Log } from "../telemetry/log.ts";
import type { Traces } from "../telemetry/traces.ts";
import type { Changes } from "./changes.ts";
import type { SecretBox } from "./secretBox.ts";

/** The parts of a process that many features need; each feature picks its own. `process/assemble.ts` makes them all. */
export interface Parts {
  config: Config;
  pool: pg.Pool;
  /** For calls of the hot path: the cell's sessions on the server that holds it. They see the cell and what is copied beside it alone. */
  direct: pg.Pool;
  queries: Queries;
  /** Where the items of which organization are. */
  cells: Cells;
  log: Log;
  /** Turns of the requests that read much from this cell. */
  reads: ReadTurns;
  box: SecretBox;
  outbound: Outbound;
  /** Networks exempt from the address guard. */
  networks: ParsedNetworks;
  changes: Changes;
  /** Absent when nothing is traced. */
  traces?: Traces | undefined;
  /** Unix milliseconds. */
  nowMs: () => number;
  randomBytes: (size: number) => Buffer;
  /** Tells the local dispatcher that something became due. */
  onDue: () => void;
  /** Tells the consumers who wait here for messages of these mailboxes. */
  onMailboxItems: (mailboxIds: string[]) => void;
}
