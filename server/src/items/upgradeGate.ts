import type pg from "pg";
import { ApiError } from "../http/contract/errors.ts";
import { keepOlderProcessesAway } from "../postgres/olderProcesses.ts";
import { inTransaction } from "../postgres/pool.ts";

/** Lets something begin only where no process runs, or can start, that would do it wrong. */
export interface UpgradeGate {
  isOpen(): boolean;
  /** @throws {ApiError} 503 while a process of an earlier version runs. */
  open(): Promise<void>;
}

/** What needs newer processes. */
export interface Newer {
  /** The migration from which on a process can do it. */
  migration: number;
  /** What an older one cannot do: ends the sentence "…, which cannot". */
  cannot: string;
}

/** Once it is open, on whichever node, older processes cannot start any more. */
export function createUpgradeGate(pool: pg.Pool, newer: Newer): UpgradeGate {
  let isOpen = false;
  return {
    isOpen: () => isOpen,
    async open() {
      if (isOpen) return;
      await inTransaction(pool, (client) => requireNewer(client, newer));
      isOpen = true;
    },
  };
}

/** The same for one transaction. @throws {ApiError} 503 while a process of an earlier version runs. */
export async function requireNewer(client: pg.ClientBase, { migration, cannot }: Newer): Promise<void> {
  if (await keepOlderProcessesAway(client, migration)) return;
  throw new ApiError(
    503,
    `a process of an earlier version still runs, which cannot ${cannot}: try again when the upgrade is finished`,
    { retryAfterSeconds: 60 },
  );
}
