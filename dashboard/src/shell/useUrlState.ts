import { useNavigate, useSearch as useRouterSearch } from "@tanstack/react-router";
import { useIsShown } from "./useIsShown.ts";

/** The query parameters of a page, as text. */
export type Search = Record<string, string | undefined>;

/**
 * The page's state, which the URL holds, and a function that changes parts of it. `undefined` removes a part. The function does
 * nothing once the page was left: the URL then holds the state of another page.
 */
export function useUrlState(): readonly [Search, (changes: Search, how?: "push" | "replace") => void] {
  const search = useRouterSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const isShown = useIsShown();
  const change = (changes: Search, how: "push" | "replace" = "replace"): void => {
    if (!isShown()) return;
    void navigate({
      to: ".",
      search: (present: Search) => ({ ...present, ...changes }),
      replace: how === "replace",
      resetScroll: false,
    });
  };
  return [search, change];
}
