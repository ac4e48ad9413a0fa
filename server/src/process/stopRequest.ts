/** A request to stop the process, made or still to come. */
export interface StopRequest {
  /** Aborted by the first request. */
  signal: AbortSignal;
  /** Resolves with the signal's name, or with the other cause of the request. */
  asked: Promise<string>;
}

/** Signals within this time are one request: a terminal and `npm` both pass the same Ctrl-C on. */
const sameAskingMs = 1_000;
const lookForParentMs = 500;

/**
 * Listens for SIGTERM, SIGINT and SIGHUP, and for the end of an `npm start` that was killed before it could pass a
 * signal on. A second signal ends the process at once, by the signal's default action; PostgreSQL's guard then stops
 * the embedded database.
 */
export function listenForStop(say: (line: string) => void, isRunByNpm: boolean): StopRequest {
  const stop = new AbortController();
  const asked = new Promise<string>((resolve) => {
    let firstMs: number | undefined;
    const ask = (what: string): void => {
      firstMs ??= performance.now();
      stop.abort();
      resolve(what);
    };
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
      process.on(signal, () => {
        if (firstMs !== undefined && performance.now() - firstMs > sameAskingMs) {
          say(`Asked to stop a second time (${signal}): ending at once`);
          endBy(signal);
        }
        ask(signal);
      });
    }
    if (isRunByNpm) watchParent(() => ask("the end of npm start"));
  });
  return { signal: stop.signal, asked };
}

/** Ends this process by the default action of the signal. */
export function endBy(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

function watchParent(onEnd: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onEnd();
  }, lookForParentMs).unref();
}
