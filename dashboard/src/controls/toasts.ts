import { useSyncExternalStore } from "react";

/** A short message about a result, with at most one action. It disappears by itself. */
export interface Toast {
  text: string;
  action?: { name: string; run: () => void };
}

type Shown = Toast & { number: number };

const shownMs = 6000;
const listeners = new Set<() => void>();
let shown: readonly Shown[] = [];
let last = 0;

export function toast(message: Toast): void {
  last += 1;
  const number = last;
  show([...shown.slice(-2), { ...message, number }]);
  setTimeout(() => show(shown.filter((other) => other.number !== number)), shownMs);
}

export function useToasts(): readonly Shown[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => shown,
  );
}

function show(next: readonly Shown[]): void {
  shown = next;
  for (const listener of listeners) listener();
}
