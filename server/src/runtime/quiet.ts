interface QuietOptions {
  /** How long nothing must have happened; Infinity for a process that is never quiet. */
  afterMs: number;
  /** Whether somebody is connected who expects to see changes at once. */
  isWatched?: () => boolean;
  /** The monotonic clock. */
  now?: () => number;
}

/** Whether anything happens in this process. Loops that poll for rare work pause longer while nothing does. */
export type Quiet = ReturnType<typeof createQuiet>;

/** Reads the clock and compares two numbers for each {@link Quiet.note}, so that it may stand on the hot path. */
export function createQuiet({
  afterMs,
  isWatched = () => false,
  now = () => performance.now(),
}: QuietOptions) {
  const wakes = new Set<() => void>();
  let notedAtMs = now();
  return {
    /** Something happened: a request came, or a loop found work. Ends the quiet at once. */
    note(): void {
      const nowMs = now();
      const wasQuiet = nowMs - notedAtMs >= afterMs;
      notedAtMs = nowMs;
      if (wasQuiet) for (const wake of wakes) wake();
    },
    isQuiet: () => now() - notedAtMs >= afterMs && !isWatched(),
    /** Calls `wake` whenever a quiet ends. @returns the function that ends this. */
    onEnd(wake: () => void): () => void {
      wakes.add(wake);
      return () => wakes.delete(wake);
    },
  };
}

/** For a process that is never quiet. */
export const neverQuiet = createQuiet({ afterMs: Infinity });
