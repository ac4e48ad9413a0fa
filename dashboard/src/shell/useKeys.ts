import { useEffect, useRef } from "react";

/** Keyboard shortcuts by `KeyboardEvent.key`; `Shift+x` for a capital. */
export type Keys = Record<string, ((event: KeyboardEvent) => void) | undefined>;

/** Keys that repeat while they are held down; every other key acts once. */
const steps = new Set(["j", "k", "[", "]"]);

/** Shortcuts of single keys. They do not act while the user types or a dialog is open. */
export function useKeys(keys: Keys, isEnabled = true): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    if (!isEnabled) return undefined;
    function press(event: KeyboardEvent): void {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      if (document.querySelector("[data-over-page]") !== null) return;
      const name =
        event.shiftKey && /^[A-Z]$/.test(event.key) ? `Shift+${event.key.toLowerCase()}` : event.key;
      const action = latest.current[name];
      if (action === undefined) return;
      event.preventDefault();
      if (!event.repeat || steps.has(name)) action(event);
    }
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [isEnabled]);
}

function isTyping({ target, key }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]") !== null) return true;
  // Enter belongs to the button or link that has the focus.
  return key === "Enter" && target.closest("button, a, summary") !== null;
}
