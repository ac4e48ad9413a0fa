export type StartProgress = ReturnType<typeof tellProgress>;

const sayEveryMs = 5_000;

/** Prints the step that a start or command is in, every few seconds, for the person who runs it. */
export function tellProgress(say: (line: string) => void) {
  const begunMs = performance.now();
  let doing = "starting";
  const timer = setInterval(() => {
    say(`Still ${doing} (${Math.round((performance.now() - begunMs) / 1_000)} s) …`);
  }, sayEveryMs);
  return {
    /** Names the current step, as a text to follow "Still". */
    doing(what: string): void {
      doing = what;
    },
    /** Prints a finished step. */
    done(what: string): void {
      say(what);
      doing = "at work";
    },
    /** Stops printing. */
    end: () => clearInterval(timer),
  };
}
