import { type QueryKey, useInfiniteQuery } from "@tanstack/react-query";

interface Pages<Row> {
  queryKey: QueryKey;
  /** Reads the page behind the row that has this cursor; the first without one. */
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Row[]>;
  /** The rows of a full page: behind a shorter one there is none. */
  size: number;
  cursorOf: (row: Row) => string;
  /** How often it is read again, if at all. */
  refreshMs?: number | false;
  staleTime?: number;
  /** Shows the rows of the query before until the first page is there. */
  keepsShown?: boolean;
}

/** The rows of a list that the service gives page by page, for a `PagedList`. */
export function usePages<Row>({ read, size, cursorOf, refreshMs = false, keepsShown, ...rest }: Pages<Row>) {
  const query = useInfiniteQuery({
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Row[]) => (page.length < size ? undefined : cursorOf(page.at(-1)!)),
    // Beyond the first pages, reading everything again costs more than it tells.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 3 ? false : refreshMs),
    placeholderData: (previous) => (keepsShown === true ? previous : undefined),
    ...rest,
  });
  return { query, rows: query.data?.pages.flat() ?? [] };
}
