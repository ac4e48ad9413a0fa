import { useState } from "react";
import { type Keys, useKeys } from "./useKeys.ts";

/** Which of a list's rows j and k moved to, -1 for none; Enter opens its link. `more` says what other keys do to it. */
export function useMarkedRow(rows: number, more: (marked: number) => Keys = noMore): number {
  const [marked, setMarked] = useState(-1);
  useKeys({
    j: () => setMarked(Math.min(rows - 1, marked + 1)),
    k: () => setMarked(Math.max(0, marked - 1)),
    Enter: () => document.querySelector<HTMLAnchorElement>("[data-marked=true] a")?.click(),
    ...more(marked),
  });
  return marked;
}

function noMore(): Keys {
  return {};
}
