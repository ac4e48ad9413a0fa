import { useEffect, useState } from "react";

/**
 * The text behind the `#` of the address, where links carry tokens because browsers send it nowhere. It is taken out of the
 * address at once, so that it stays in no history. Another link that is opened on the same page brings another text, without a
 * reload.
 */
export function useFragment(): string {
  const [text, setText] = useState(takeFragment);
  useEffect(() => {
    const take = (): void => {
      if (window.location.hash.length > 1) setText(takeFragment());
    };
    window.addEventListener("hashchange", take);
    return () => window.removeEventListener("hashchange", take);
  }, []);
  return text;
}

function takeFragment(): string {
  const text = window.location.hash.slice(1);
  if (text !== "") window.history.replaceState(window.history.state, "", window.location.pathname);
  return text;
}
