import { useEffect, useLayoutEffect, useState } from "react";

/**
 * The text behind the `#` of the address, where links carry tokens because browsers send it nowhere. It is taken out of the
 * address once the page is shown, so that it stays in no history. Another link that is opened on the same page brings another text,
 * without a reload.
 *
 * Rendering only reads the address: React may drop an unfinished first render, with its state, and begin again.
 */
export function useFragment(): string {
  const [text, setText] = useState(readFragment);
  useLayoutEffect(clearFragment, []);
  useEffect(() => {
    const take = (): void => {
      const next = readFragment();
      if (next === "") return;
      clearFragment();
      setText(next);
    };
    window.addEventListener("hashchange", take);
    return () => window.removeEventListener("hashchange", take);
  }, []);
  return text;
}

function readFragment(): string {
  return window.location.hash.slice(1);
}

function clearFragment(): void {
  if (readFragment() !== "") window.history.replaceState(window.history.state, "", window.location.pathname);
}
