export type StartProgress = ReturnType<typeof tellProgress>;

const sayEveryMs = 5_000;

/** Tells the person who started the service, every few seconds, what the start waits for. */
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
    /** Says no more. */
    end: () => clearInterval(timer),
  };
}
