/**
 * Does `work` once for all who ask while it is under way: they share its result, or its error. Who asks later has it
 * done anew.
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
