import { useSyncExternalStore } from "react";
import { serviceNowMs } from "./serviceClock.ts";

const listeners = new Set<() => void>();
let nowMs = serviceNowMs();
let timer: ReturnType<typeof setInterval> | undefined;

/** The service's time in Unix milliseconds, updated every second for all components that show it. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === undefined) {
    nowMs = serviceNowMs();
    timer = setInterval(tick, 1000);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function tick(): void {
  if (document.hidden) return;
  nowMs = serviceNowMs();
  for (const listener of listeners) listener();
}
