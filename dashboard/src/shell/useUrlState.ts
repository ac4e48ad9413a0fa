import { useNavigate, useSearch as useRouterSearch } from "@tanstack/react-router";

/** The query parameters of a page, as text. */
export type Search = Record<string, string | undefined>;

/** The page's state, which the URL holds, and a function that changes parts of it. `undefined` removes a part. */
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
