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

/** The parts of a process that many features use; each feature picks those it needs. `process/assemble.ts` creates them. */
export interface Parts {
  config: Config;
  pool: pg.Pool;
  /** Pool for the hot path: connects to the server that holds the cell, where only the cell and copied tables are visible. */
  direct: pg.Pool;
  queries: Queries;
  /** The cells, and which cell has the items of which organization. */
  cells: Cells;
  log: Log;
  /** Limits the concurrency of requests that read much from this cell. */
  reads: ReadTurns;
  box: SecretBox;
  outbound: Outbound;
  /** Networks exempt from the address guard. */
  networks: ParsedNetworks;
  changes: Changes;
  /** Absent when this process exports no traces. */
  traces?: Traces | undefined;
  /** Unix milliseconds. */
  nowMs: () => number;
  randomBytes: (size: number) => Buffer;
  /** Tells this process's dispatcher that deliveries became due. */
  onDue: () => void;
  /** Wakes the long polls of these mailboxes. */
  onMailboxItems: (mailboxIds: string[]) => void;
}
