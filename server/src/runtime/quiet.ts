interface QuietOptions {
  /** Time without activity after which the process is quiet; Infinity for never. */
  afterMs: number;
  /** Whether a client is connected that expects changes at once. */
  isWatched?: () => boolean;
  /** The monotonic clock. */
  now?: () => number;
}

/** Whether this process has no activity. Loops that poll for rare work pause longer while it is quiet. */
export type Quiet = ReturnType<typeof createQuiet>;

/**
 * Creates the quiet state of a process. {@link Quiet.note} only reads the clock and compares two numbers, so it may be called on
 * the hot path.
 */
export function createQuiet({
  afterMs,
  isWatched = () => false,
  now = () => performance.now(),
}: QuietOptions) {
  const wakes = new Set<() => void>();
  let notedAtMs = now();
  return {
    /** Records activity, such as a request or found work. Ends the quiet at once. */
    note(): void {
      const nowMs = now();
      const wasQuiet = nowMs - notedAtMs >= afterMs;
      notedAtMs = nowMs;
      if (wasQuiet) for (const wake of wakes) wake();
    },
    isQuiet: () => now() - notedAtMs >= afterMs && !isWatched(),
    /** Calls `wake` whenever quiet ends. @returns a function that removes `wake`. */
    onEnd(wake: () => void): () => void {
      wakes.add(wake);
      return () => wakes.delete(wake);
    },
  };
}

/** For a process that never becomes quiet. */
export const neverQuiet = createQuiet({ afterMs: Infinity });
