const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Has `clean` run when somebody ends this process, as by Ctrl-C; the process then ends by the signal, as without it. Nothing
 * asynchronous happens any more, so `clean` is synchronous.
 * @returns what takes it back.
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
