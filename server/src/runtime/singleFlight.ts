/**
 * Single flight: calls that come while `work` is under way share its result, or its error; a later call does it anew.
 */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => {
    underWay ??= work().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}
