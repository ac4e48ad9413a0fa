/** The listeners to a value that is kept outside of React, as `useSyncExternalStore` needs them. */
export function createListeners<Told extends unknown[] = []>() {
  const listeners = new Set<(...told: Told) => void>();
  return {
    /** @returns a function that unsubscribes. */
    subscribe: (listener: (...told: Told) => void): (() => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** Calls every listener. */
    tell: (...told: Told): void => {
      for (const listener of listeners) listener(...told);
    },
  };
}
