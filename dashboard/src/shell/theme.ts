import { useSyncExternalStore } from "react";
import { createListeners } from "../api/listeners.ts";

export type Theme = "light" | "dark";

const { subscribe, tell } = createListeners();

/** The current theme. `public/theme.js` sets it before the first paint. */
function theme(): Theme {
  return document.documentElement.dataset["theme"] === "dark" ? "dark" : "light";
}

export function toggleTheme(): void {
  const next = theme() === "dark" ? "light" : "dark";
  document.documentElement.dataset["theme"] = next;
  try {
    localStorage.setItem("postrider.theme", next);
  } catch {
    // Storage is forbidden: the theme holds for this visit.
  }
  tell();
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, theme);
}
