import { useSyncExternalStore } from "react";
import { createListeners } from "../api/listeners.ts";

/** Whether times are shown in this machine's time zone or in UTC. The choice is stored across visits. */
export type TimeZone = "local" | "UTC";

const key = "postrider.timeZone";
const { subscribe, tell } = createListeners();
let current: TimeZone = readKept() === "UTC" ? "UTC" : "local";

export function useTimeZone(): TimeZone {
  return useSyncExternalStore(subscribe, () => current);
}

export function toggleTimeZone(): void {
  current = current === "UTC" ? "local" : "UTC";
  try {
    localStorage.setItem(key, current);
  } catch {
    // Storage is forbidden: the choice holds for this visit.
  }
  tell();
}

function readKept(): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
