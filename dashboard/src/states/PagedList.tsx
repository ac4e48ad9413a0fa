import { type QueryKey, useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Button } from "../controls/Button.tsx";
import { AsOf, FetchingBar, type ReadBefore, SkeletonRows } from "./Loaded.tsx";
import { ProblemCard } from "./ProblemCard.tsx";
import { useLastError } from "./useLastError.ts";

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
  /** Refreshes the first page where the list itself is not refreshed. */
  newest?: ReadBefore & { isError: boolean };
  isEmpty: boolean;
  empty: ReactNode;
  /** Beside why it cannot be read: a way on. */
  wayOn?: ReactNode;
  children: ReactNode;
}

/** Rows read page by page, in each of their states, with a way to the next page. */
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

/** A way to the next page, where there is one. */
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

/** A way to the rest of a list that is there as a whole; nothing where all of it is shown. */
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
