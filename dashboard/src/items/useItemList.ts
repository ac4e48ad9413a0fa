import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useLiveState, useRefreshMs } from "../live/liveState.ts";
import type { ItemFilter } from "./filter.ts";
import { type ItemRow, listItems, pageSize } from "./listItems.ts";

/** The page in view begins at a multiple of this number, so that it stays the same while the list is scrolled by a few rows. */
const step = 25;

/**
 * The items that match, newest first, page by page. Rows never move by themselves: new items are counted and wait for
 * `showNew`, while the rows in view update their statuses in place. A refresh makes two requests, however many rows are loaded:
 * for the first page, and for the page in view.
 */
export function useItemList(filter: ItemFilter) {
  const [generation, setGeneration] = useState(0);
  const list = useInfiniteQuery({
    queryKey: ["itemList", filter, generation],
    queryFn: ({ pageParam, signal }) => listItems(filter, { before: pageParam, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page.length < pageSize ? undefined : page.at(-1)?.id),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 30_000,
    placeholderData: (previous) => previous,
    // Comparing all pages with their previous data at each new page would block the browser at 100,000 rows.
    structuralSharing: false,
  });
  const loaded = useMemo(() => list.data?.pages.flat() ?? [], [list.data]);
  const { head, inView, reads, showRowsFrom } = useRefreshed(filter, {
    loaded: list.isPlaceholderData ? [] : loaded,
    enabled: list.isSuccess,
  });
  const rows = useMemo(() => withNews(loaded, reads), [loaded, reads]);
  const { newCount, goneCount } = useMemo(
    () => (list.isPlaceholderData ? noChange : changeOf(rows, reads, list.hasNextPage)),
    [list.isPlaceholderData, list.hasNextPage, rows, reads],
  );
  return {
    list,
    /** The query that refreshes the rows in view, with its error. */
    refresh: inView.isError ? inView : head,
    rows,
    newCount,
    /**
     * Number of shown rows whose status no longer matches; 0 without a status filter, because items then never leave the
     * list.
     */
    goneCount: filter.status === undefined ? 0 : goneCount,
    showNew: () => {
      setGeneration((present) => present + 1);
      // Otherwise the new list would be compared with an older first page.
      void head.refetch();
    },
    /** Tells which row is the first in view. */
    showRowsFrom,
  };
}

/** The newest state of the first page, and of the page that begins at or before the first row in view. */
function useRefreshed(
  filter: ItemFilter,
  { loaded, enabled }: { loaded: readonly ItemRow[]; enabled: boolean },
) {
  const refetchInterval = useRefreshMs();
  const isPaused = useLiveState() === "Paused";
  const [first, setFirst] = useState(0);
  const before = loaded[first - (first % step) - 1]?.id;
  const head = useQuery({
    queryKey: ["items", "head", filter],
    queryFn: ({ signal }) => listItems(filter, { signal }),
    refetchInterval,
    enabled,
  });
  const inView = useQuery({
    queryKey: ["items", "inView", filter, before],
    queryFn: ({ signal }) => listItems(filter, { before, signal }),
    refetchInterval,
    enabled: before !== undefined && !isPaused,
  });
  const reads = useMemo(() => {
    const pages: Reread[] = [];
    if (inView.data !== undefined) pages.push({ before, page: inView.data });
    if (head.data !== undefined) pages.push({ before: undefined, page: head.data });
    return pages;
  }, [before, inView.data, head.data]);
  return { head, inView, reads, showRowsFrom: setFirst };
}

/** A page that was read again: the items that match and are older than `before`. */
interface Reread {
  before: string | undefined;
  page: readonly ItemRow[];
}

/** The same rows, with their latest statuses. */
function withNews(rows: readonly ItemRow[], reads: readonly Reread[]): readonly ItemRow[] {
  const byId = new Map(reads.flatMap(({ page }) => page.map((row) => [row.id, row] as const)));
  return byId.size === 0 ? rows : rows.map((row) => byId.get(row.id) ?? row);
}

const noChange = { newCount: 0, goneCount: 0 };

/**
 * Counts items of the pages read again that should be listed, whatever their age, and listed items that these pages should
 * contain but do not. With `hasMore`, items older than the last row are not loaded yet.
 */
function changeOf(rows: readonly ItemRow[], reads: readonly Reread[], hasMore: boolean): typeof noChange {
  const listed = new Set(rows.map(({ id }) => id));
  const end = hasMore ? rows.at(-1)!.id : "";
  const [added, gone] = [new Set<string>(), new Set<string>()];
  for (const { before, page } of reads) {
    const present = new Set(page.map(({ id }) => id));
    const last = page.length < pageSize ? "" : page.at(-1)!.id;
    for (const { id } of page) if (id > end && !listed.has(id)) added.add(id);
    for (const { id } of rows)
      if (id > last && (before === undefined || id < before) && !present.has(id)) gone.add(id);
  }
  return { newCount: added.size, goneCount: gone.size };
}
