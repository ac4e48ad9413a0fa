import { useSyncExternalStore } from "react";
import { createListeners } from "../api/listeners.ts";

/**
 * A short message about a result, with at most one action. It disappears by itself, but not while the pointer is over it or its
 * action has the focus.
 */
export interface Toast {
  text: string;
  action?: { name: string; run: () => void };
}

type Shown = Toast & { number: number };

const shownMs = 6000;
const heldMs = 1000;
const { subscribe, tell } = createListeners();
let shown: readonly Shown[] = [];
let last = 0;

export function toast(message: Toast): void {
  last += 1;
  const number = last;
  show([...shown.slice(-2), { ...message, number }]);
  const end = (): void => {
    const isHeld = document.querySelector(`[data-toast="${number}"]:is(:hover, :focus-within)`) !== null;
    if (isHeld) setTimeout(end, heldMs);
    else show(shown.filter((other) => other.number !== number));
  };
  setTimeout(end, shownMs);
}

export function useToasts(): readonly Shown[] {
  return useSyncExternalStore(subscribe, () => shown);
}

function show(next: readonly Shown[]): void {
  shown = next;
  tell();
}
