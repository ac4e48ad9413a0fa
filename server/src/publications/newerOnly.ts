import type pg from "pg";
import { ApiError } from "../http/contract/errors.ts";
import { keepOlderProcessesAway } from "../postgres/olderProcesses.ts";
import { inTransaction } from "../postgres/pool.ts";

/** The migration from which on a process finds the payload of a publication. */
const publicationsMigration = 31;

/** Lets publishing begin only where no process runs, or can start, that would send a publication's items empty. */
export interface UpgradeGate {
  isOpen(): boolean;
  /** @throws {ApiError} 503 while a process of an earlier version runs. */
  open(): Promise<void>;
}

/** Once it is open, on whichever node, older processes cannot start any more. */
export function createUpgradeGate(pool: pg.Pool): UpgradeGate {
  let isOpen = false;
  return {
    isOpen: () => isOpen,
    async open() {
      isOpen = await inTransaction(pool, (client) => keepOlderProcessesAway(client, publicationsMigration));
      if (isOpen) return;
      throw new ApiError(
        503,
        "a process of an earlier version still runs, which cannot deliver publications: try again when the upgrade is finished",
        { retryAfterSeconds: 60 },
      );
    },
  };
}
