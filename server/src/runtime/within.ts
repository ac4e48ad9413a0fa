/** Resolves with the answer, or with `late` if it takes longer than `limitMs` milliseconds. The answer must not reject. */
export function within<T>(limitMs: number, answer: Promise<T>, late: T): Promise<T> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, limitMs, late);
    void answer.then((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
}

/** Single flight: calls during `work` share its result or error; a later call runs `work` again. */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let inFlight: Promise<T> | undefined;
  return () => {
    inFlight ??= work().finally(() => {
      inFlight = undefined;
    });
    return inFlight;
  };
}
