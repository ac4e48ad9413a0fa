import { singleFlight, within } from "../runtime/within.ts";

/** Asked at most this often, however often `/metrics` is read. */
const freshForMs = 5_000;

/** Prometheus waits 10 s for an answer: the other metrics must not be lost with those that a frozen database would have to tell. */
const waitMs = 2_000;

/**
 * Caches a reading for gauges for 5 s, with single flight. While it cannot be read, or takes longer than two seconds, the last value
 * stands; undefined before the first.
 */
export function keepReading<T>(read: () => Promise<T>): () => Promise<T | undefined> {
  let readAtMs = -Infinity;
  let value: T | undefined;
  const refresh = singleFlight(async () => {
    try {
      value = await read();
      readAtMs = performance.now();
    } catch {
      // The last value stands.
    }
  });
  return async () => {
    if (performance.now() - readAtMs >= freshForMs) await within(waitMs, refresh(), undefined);
    return value;
  };
}
