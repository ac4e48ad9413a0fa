import { useSyncExternalStore } from "react";
import { createListeners } from "../api/listeners.ts";

/** How the page learns of changes: by the stream, by polling every few seconds, or not at all while it is paused. */
export type LiveState = "Live" | "Paused" | "Reconnecting" | "Polling";

const { subscribe, tell } = createListeners();
let connection: Exclude<LiveState, "Paused"> = "Polling";
let paused = false;
let pollPauseMs = 0;

export function liveState(): LiveState {
  return paused ? "Paused" : connection;
}

export function setConnection(next: typeof connection): void {
  if (next === connection) return;
  connection = next;
  tell();
}

/** Sets the shortest time between two polls of a query, in milliseconds; more than 0 while the service is unreachable. */
export function setPollPause(nextMs: number): void {
  if (nextMs === pollPauseMs) return;
  pollPauseMs = nextMs;
  tell();
}

export function togglePause(): void {
  paused = !paused;
  tell();
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(subscribe, liveState);
}

export const subscribeLive = subscribe;

/**
 * The refetch interval of a query in milliseconds: `liveMs` with the stream, `pollMs` or more without it, and false (never)
 * while paused.
 */
export function useRefreshMs(pollMs = 5000, liveMs: number | false = false): number | false {
  const state = useLiveState();
  const leastMs = useSyncExternalStore(subscribeLive, () => pollPauseMs);
  if (state === "Paused") return false;
  return state === "Live" ? liveMs : Math.max(pollMs, leastMs);
}
