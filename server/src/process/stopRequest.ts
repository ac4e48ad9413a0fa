/** Somebody wants the process to end. */
export interface StopRequest {
  /** Aborted by the first asking. */
  signal: AbortSignal;
  /** Resolves with the signal's name, or with what else asked. */
  asked: Promise<string>;
}

/** A terminal and `npm` both pass Ctrl-C on: what comes so soon is the same asking. */
const sameAskingMs = 1_000;
const lookForParentMs = 500;

/**
 * Listens for SIGTERM, SIGINT and SIGHUP, and for the end of an `npm start` that was killed without a chance to pass
 * its signal on. The second asking ends the process at once, by the signal itself; PostgreSQL's guard stops the
 * embedded database then.
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

/** Ends this process as the signal would if nobody listened. */
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
