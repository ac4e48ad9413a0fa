const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Runs `clean` when a signal such as that of Ctrl-C ends this process; the process then ends by the same signal. `clean` must be
 * synchronous, because the process ends directly afterwards.
 * @returns a function that removes `clean` again.
 */
export function beforeInterrupt(clean: (signal: NodeJS.Signals) => void): () => void {
  const listen = (signal: NodeJS.Signals): void => {
    takeBack();
    clean(signal);
    process.kill(process.pid, signal);
  };
  const takeBack = (): void => {
    for (const signal of signals) process.off(signal, listen);
  };
  for (const signal of signals) process.on(signal, listen);
  return takeBack;
}
