import { useSyncExternalStore } from "react";

/** Whether times are shown in this machine's time zone or in UTC. The choice is stored across visits. */
export type TimeZone = "local" | "UTC";

const key = "postrider.timeZone";
const listeners = new Set<() => void>();
let current: TimeZone = readKept() === "UTC" ? "UTC" : "local";

export function useTimeZone(): TimeZone {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}

export function toggleTimeZone(): void {
  current = current === "UTC" ? "local" : "UTC";
  try {
    localStorage.setItem(key, current);
  } catch {
    // Storage is forbidden: the choice holds for this visit.
  }
  for (const listener of listeners) listener();
}

function readKept(): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
