export type Sleeper = ReturnType<typeof createSleeper>;

/** Lets a loop pause until it is woken. */
export function createSleeper() {
  let isWoken = false;
  let wakeUp: (() => void) | undefined;
  return {
    /** Clears all wake-ups so far. */
    rest(): void {
      isWoken = false;
    },
    /** Resolves after the time, or at once if `wake` was called since the last `rest`. */
    sleep(ms: number): Promise<void> {
      if (isWoken) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = setTimeout(done, ms);
        wakeUp = done;
        function done(): void {
          clearTimeout(timer);
          wakeUp = undefined;
          resolve();
        }
      });
    },
    wake(): void {
      isWoken = true;
      wakeUp?.();
    },
  };
}

/** Calls `once` repeatedly until `signal`. `once` returns the pause in milliseconds, which `wake` ends early. */
export async function repeatUntil(
  signal: AbortSignal,
  sleeper: Sleeper,
  once: () => Promise<number>,
): Promise<void> {
  while (!signal.aborted) {
    sleeper.rest();
    const pauseMs = await once();
    if (pauseMs > 0 && !signal.aborted) await sleeper.sleep(pauseMs);
  }
}
