import { type QueryKey, useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Button } from "../controls/Button.tsx";
import { AsOf, FetchingBar, type ReadBefore, SkeletonRows, useLastError } from "./Loaded.tsx";
import { ProblemCard } from "./ProblemCard.tsx";

interface PagedQuery extends HasPages, ReadBefore {
  error: Error | null;
  isPending: boolean;
  isError: boolean;
  isLoadingError: boolean;
  isFetching: boolean;
  errorUpdateCount: number;
}

interface HasPages {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => Promise<unknown>;
}

interface PagedListProps {
  query: PagedQuery;
  /** The query that refreshes the first page, if the list's own query is not refreshed. */
  newest?: ReadBefore & { isError: boolean };
  isEmpty: boolean;
  empty: ReactNode;
  /** An action below the error, such as one that clears the filter. */
  wayOn?: ReactNode;
  children: ReactNode;
}

/** Rows that are read page by page, with their loading, error and empty states, and a button for the next page. */
export function PagedList({ query, newest, isEmpty, empty, wayOn, children }: PagedListProps) {
  const error = useLastError(query);
  const isRefused = query.isLoadingError || (query.isPending && error !== undefined);
  return (
    <div className="relative min-w-0 rounded-card border bg-surface">
      {query.isFetching && <FetchingBar />}
      {query.isError && !query.isLoadingError && <AsOf query={query} />}
      {newest?.isError === true && !query.isError && <AsOf query={newest} />}
      {query.isPending && !isRefused && <SkeletonRows rows={10} />}
      {isRefused && (
        <>
          <ProblemCard error={error} onRetry={() => void query.refetch()} />
          {wayOn !== undefined && <div className="p-4">{wayOn}</div>}
        </>
      )}
      {isEmpty && !query.isPending && !isRefused ? empty : children}
      <NextPage query={query} />
    </div>
  );
}

/** The button that loads the next page, if there is one. */
export function NextPage({ query }: { query: HasPages }) {
  if (!query.hasNextPage) return null;
  return (
    <div className="p-3 text-center">
      <Button onClick={() => void query.fetchNextPage()} busy={query.isFetchingNextPage}>
        Load more
      </Button>
    </div>
  );
}

/** The button that shows more of a list that is loaded as a whole; nothing when all of it is shown. */
export function MoreRows({ shown, of, onMore }: { shown: number; of: number; onMore: () => void }) {
  if (shown >= of) return null;
  const number = (value: number): string => value.toLocaleString("en");
  return (
    <div className="p-3 text-center">
      <Button onClick={onMore}>
        Show more: {number(shown)} of {number(of)}
      </Button>
    </div>
  );
}

interface Pages<Row> {
  queryKey: QueryKey;
  /** Reads the page after the row with this cursor; without a cursor, the first page. */
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Row[]>;
  /** Number of rows of a full page; a shorter page is the last. */
  size: number;
  cursorOf: (row: Row) => string;
  /** Refetch interval in milliseconds, which may depend on the loaded rows; false for never. */
  refreshMs?: number | false | ((rows: readonly Row[]) => number | false);
  staleTime?: number;
  /** Shows the rows of the previous query until the first page is loaded. */
  keepsShown?: boolean;
}

/** Reads a list page by page (keyset pagination), for a `PagedList`. */
export function usePages<Row>({ read, size, cursorOf, refreshMs = false, keepsShown, ...rest }: Pages<Row>) {
  const query = useInfiniteQuery({
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Row[]) => (page.length < size ? undefined : cursorOf(page.at(-1)!)),
    // A refetch makes a request for each page, so the more pages are loaded, the less often they are read again.
    refetchInterval: ({ state: { data } }) => {
      const ms = typeof refreshMs === "function" ? refreshMs(data?.pages.flat() ?? []) : refreshMs;
      return ms !== false && ms * (data?.pages.length ?? 1);
    },
    placeholderData: (previous) => (keepsShown === true ? previous : undefined),
    ...rest,
  });
  return { query, rows: query.data?.pages.flat() ?? [] };
}
