import type pg from "pg";
import type { Delivery } from "../../items/delivery.ts";
import type { Log } from "../../telemetry/log.ts";
import { releaseDeliveries } from "./store.ts";

/** Releases, in batches, deliveries that were leased but are not attempted. */
export interface Releases {
  add(deliveries: readonly Delivery[]): void;
  /** Adds a delivery that could not be sent because this process lacked a resource, such as file descriptors. */
  addUnsent(delivery: Delivery, why: string): void;
  /** Releases all added deliveries. The promise never rejects. */
  flush(): Promise<void>;
}

/** Minimum time between two log lines, because thousands of requests per second may fail for the same shortage. */
const quietMs = 10_000;

export function createReleases(pool: pg.Pool, log: Log): Releases {
  let waiting: Delivery[] = [];
  let unsent = 0;
  let saidAtMs = Number.NEGATIVE_INFINITY;

  function report(reason: string): void {
    unsent++;
    const nowMs = performance.now();
    if (nowMs - saidAtMs < quietMs) return;
    log.warn(
      { deliveries: unsent, reason },
      "deliveries could not be sent because this process lacks resources",
    );
    saidAtMs = nowMs;
    unsent = 0;
  }

  return {
    add(deliveries) {
      for (const delivery of deliveries) waiting.push(delivery);
    },
    addUnsent(delivery, why) {
      report(why);
      waiting.push(delivery);
    },
    async flush() {
      const released = waiting;
      if (released.length === 0) return;
      waiting = [];
      try {
        await releaseDeliveries(pool, released);
      } catch (error) {
        // The leases lapse, and sweep_deliveries makes the deliveries due again.
        log.warn({ err: error, deliveries: released.length }, "leases could not be given back");
      }
    },
  };
}
