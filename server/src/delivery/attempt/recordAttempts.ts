import type pg from "pg";
import { GroupCommit } from "../../runtime/groupCommit.ts";
import { isDatabaseAway } from "../../postgres/pool.ts";
import type { Log } from "../../telemetry/log.ts";
import type { AttemptReport, MadeAttempt } from "./reportAttempt.ts";
import { finishDeliveries } from "../rows/store.ts";

/** Records attempts by group commit. */
export interface AttemptRecorder {
  /**
   * Reports the attempt once it is durable, or is found to have lost its lease. Tries again while the database is away,
   * because the receiver already has the item.
   */
  record(attempt: MadeAttempt): void;
  pending(): number;
  drained(): Promise<void>;
  /** Tries no more: attempts that are not stored are lost, their leases lapse, and the items are delivered again. */
  stop(): void;
}

const maxBatch = 512;
const maxBatchBytes = 4 * 1024 * 1024;
const recordBytes = 128;
/**
 * No caller waits for the record, so a batch may gather; a crash before its commit repeats the delivery (at least
 * once). Below 400 attempts a second a batch waits for `few`: at 100/s, `finish_deliveries` runs 12 times a second instead of 42,
 * and a crash repeats no more than 8 deliveries.
 */
const gather = { count: 256, ms: 20, few: { count: 8, ms: 100 } };
const retryDelayMs = 250;

export function createAttemptRecorder(pool: pg.Pool, log: Log, report: AttemptReport): AttemptRecorder {
  let stopped = false;
  const commits = new GroupCommit<MadeAttempt, boolean>({
    async run(records) {
      for (let isFirst = true; ; isFirst = false) {
        try {
          return await finishDeliveries(pool, records);
        } catch (error) {
          if (!isDatabaseAway(error) || stopped) throw error;
          if (isFirst) log.warn({ err: error, attempts: records.length }, "attempts wait for the database");
          await new Promise((resolve) => setTimeout(resolve, retryDelayMs));
        }
      }
    },
    isPieceAtFault: (error) => !isDatabaseAway(error),
    sizeOf: (record) => recordBytes + (record.responseBody?.length ?? 0),
    maxBatch,
    maxBatchBytes,
    gather,
    maxQueued: Number.POSITIVE_INFINITY,
  });

  return {
    record: (attempt) => commits.put(attempt, report.recorded, report.lost),
    pending: () => commits.pending(),
    drained: () => commits.drained(),
    stop() {
      stopped = true;
    },
  };
}
