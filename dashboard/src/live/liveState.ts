import { useSyncExternalStore } from "react";

/** How fresh the page is: by the stream, by asking every few seconds, or on purpose not at all. */
export type LiveState = "Live" | "Paused" | "Reconnecting" | "Polling";

const listeners = new Set<() => void>();
let connection: Exclude<LiveState, "Paused"> = "Polling";
let paused = false;

export function liveState(): LiveState {
  return paused ? "Paused" : connection;
}

export function setConnection(next: typeof connection): void {
  if (next === connection) return;
  connection = next;
  tell();
}

export function togglePause(): void {
  paused = !paused;
  tell();
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(subscribeLive, liveState);
}

export function subscribeLive(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(): void {
  for (const listener of listeners) listener();
}

/** How often a query asks by itself, in milliseconds: only where no stream tells, and never while paused. */
export function useRefreshMs(pollMs = 5000, liveMs: number | false = false): number | false {
  const state = useLiveState();
  if (state === "Paused") return false;
  return state === "Live" ? liveMs : pollMs;
}
