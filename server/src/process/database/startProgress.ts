/** Tells the person who started the service, every few seconds, what the start waits for. */
export interface StartProgress {
  /** Names the current step, as a text to follow "Still". */
  doing(what: string): void;
  /** Says no more. */
  end(): void;
}

const sayEveryMs = 5_000;

export function tellProgress(say: (line: string) => void): StartProgress {
  const begunMs = performance.now();
  let doing = "starting";
  const timer = setInterval(() => {
    say(`Still ${doing} (${Math.round((performance.now() - begunMs) / 1_000)} s) …`);
  }, sayEveryMs);
  return {
    doing(what) {
      doing = what;
    },
    end: () => clearInterval(timer),
  };
}
