import { useNavigate, useSearch as useRouterSearch } from "@tanstack/react-router";

/** The query parameters of a page, as text. */
export type Search = Record<string, string | undefined>;

/** The page's state, which is its URL, and a way to change parts of it. `undefined` takes a part out. */
export function useUrlState(): readonly [Search, (changes: Search, how?: "push" | "replace") => void] {
  const search = useRouterSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const change = (changes: Search, how: "push" | "replace" = "replace"): void => {
    void navigate({
      to: ".",
      search: (present: Search) => ({ ...present, ...changes }),
      replace: how === "replace",
      resetScroll: false,
    });
  };
  return [search, change];
}
