import { useEffect, useLayoutEffect, useState } from "react";

/**
 * The fragment of the URL, in which links carry tokens because browsers never send it. It is removed from the address once
 * the page is shown, so that it does not stay in the history. If another link is opened on the same page, its fragment is
 * returned without a reload.
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
