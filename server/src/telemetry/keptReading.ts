/** Asked at most this often, however often `/metrics` is read. */
const freshForMs = 5_000;

/**
 * Reads something for gauges at most every 5 s, once for all that ask at the same time. While it cannot be read the last
 * value stands; undefined before the first.
 */
export function keepReading<T>(read: () => Promise<T>): () => Promise<T | undefined> {
  let readAtMs = -Infinity;
  let reading: Promise<void> | undefined;
  let value: T | undefined;
  return async () => {
    if (performance.now() - readAtMs < freshForMs) return value;
    reading ??= read()
      .then((present) => {
        value = present;
        readAtMs = performance.now();
      })
      .catch(() => undefined)
      .finally(() => {
        reading = undefined;
      });
    await reading;
    return value;
  };
}
