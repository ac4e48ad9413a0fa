import type { Log } from "../../telemetry/log.ts";

/** Says in the log that requests could not be sent for want of something of this process's own. */
export interface UnsentReport {
  note(why: string): void;
}

/** Thousands of requests may meet the same shortage in a second. */
const quietMs = 10_000;

export function createUnsentReport(log: Log): UnsentReport {
  let count = 0;
  let saidAtMs = Number.NEGATIVE_INFINITY;
  return {
    note(why) {
      count++;
      const nowMs = performance.now();
      if (nowMs - saidAtMs < quietMs) return;
      log.warn({ deliveries: count, reason: why }, "deliveries could not be sent for want of resources here");
      saidAtMs = nowMs;
      count = 0;
    },
  };
}
