import type pg from "pg";
import { GroupCommit } from "../../runtime/groupCommit.ts";
import { isDatabaseAway } from "../../postgres/pool.ts";
import type { Log } from "../../telemetry/log.ts";
import type { AttemptReport, MadeAttempt } from "./reportAttempt.ts";
import { finishDeliveries } from "../rows/store.ts";

/** Records attempts by group commit. */
export interface AttemptRecorder {
  /**
   * Queues an attempt. It is reported when it is stored, or when its lease turns out to be lost. Storing is retried while the
   * database is unreachable, because the receiver already has the item.
   */
  record(attempt: MadeAttempt): void;
  pending(): number;
  drained(): Promise<void>;
  /** Stops retrying. Attempts that are not stored are lost; their leases lapse, and the items are delivered again. */
  stop(): void;
}

const maxBatch = 512;
const maxBatchBytes = 4 * 1024 * 1024;
const recordBytes = 128;
/**
 * No caller waits for the record, so a batch may grow before it is written. A crash before its commit repeats the deliveries
 * (at-least-once). Below 400 attempts a second, a batch waits for `few`: at 100/s, `finish_deliveries` runs 12 times a second
 * instead of 42, and a crash repeats at most 8 deliveries.
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
          if (isFirst)
            log.warn(
              { err: error, attempts: records.length },
              "attempts cannot be recorded until the database is reachable",
            );
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
