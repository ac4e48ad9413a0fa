import { createNumberSet, type NumberSet } from "../numberSet.ts";

/** A delivery as the receiver read it; times are milliseconds of the machine's monotonic clock. */
export interface Delivery {
  path: string | number;
  /** The event's number. */
  number: number;
  sentAtMs: number;
  arrivedAtMs: number;
}

/** The deliveries of one run, each event counted once per path. */
export interface Arrivals {
  record(delivery: Delivery): void;
  counts(): ArrivalCounts;
  /** Milliseconds from the publish call to the receiver, of the deliveries since `takeLatencies` was last called. */
  takeLatencies(): number[];
  /** Number of missing deliveries if each of the accepted events has to arrive on `paths` paths. */
  missing(accepted: Uint8Array, paths: number): number;
}

export interface ArrivalCounts {
  /** Deliveries without repetitions. */
  count: number;
  /** Deliveries of an event that had arrived on the same path before. */
  repeated: number;
  /** The number of paths seen. */
  paths: number;
  /** When the last delivery without repetitions was read. */
  lastAtMs: number;
}

export function createArrivals(): Arrivals {
  const seen = new Map<Delivery["path"], NumberSet>();
  /** On how many paths each event arrived; the index is the event's number. */
  let paths = new Uint16Array(1_024);
  let latencies: number[] = [];
  const counts = { count: 0, repeated: 0, lastAtMs: 0 };

  function seenOn(path: Delivery["path"]): NumberSet {
    let numbers = seen.get(path);
    if (numbers === undefined) seen.set(path, (numbers = createNumberSet()));
    return numbers;
  }

  return {
    record({ path, number, sentAtMs, arrivedAtMs }) {
      if (!seenOn(path).add(number)) {
        counts.repeated++;
        return;
      }
      if (number >= paths.length) {
        const larger = new Uint16Array(2 * (number + 1));
        larger.set(paths);
        paths = larger;
      }
      paths[number]!++;
      counts.count++;
      counts.lastAtMs = arrivedAtMs;
      latencies.push(arrivedAtMs - sentAtMs);
    },
    counts: () => ({ ...counts, paths: seen.size }),
    takeLatencies() {
      const taken = latencies;
      latencies = [];
      return taken;
    },
    missing(accepted, wanted) {
      let missing = 0;
      for (const number of createNumberSet(accepted).values())
        missing += Math.max(0, wanted - (paths[number] ?? 0));
      return missing;
    },
  };
}
