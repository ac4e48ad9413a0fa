import type pg from "pg";
import type { Log } from "../../telemetry/log.ts";
import type { Delivery } from "../../items/delivery.ts";
import { releaseDeliveries } from "../rows/store.ts";

/** Gives back, some at a time, deliveries that were leased and are not attempted. */
export interface Releases {
  add(delivery: Delivery): void;
  /** Gives back what was added so far. Never rejects. */
  flush(): Promise<void>;
}

export function createReleases(pool: pg.Pool, log: Log): Releases {
  let waiting: Delivery[] = [];
  return {
    add: (delivery) => void waiting.push(delivery),
    async flush() {
      const released = waiting;
      if (released.length === 0) return;
      waiting = [];
      try {
        await releaseDeliveries(pool, released);
      } catch (error) {
        // Their leases lapse by themselves and the sweep makes them due again.
        log.warn({ err: error, deliveries: released.length }, "leases could not be given back");
      }
    },
  };
}
