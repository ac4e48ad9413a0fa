import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useRefreshMs } from "../live/liveState.ts";
import type { ItemFilter } from "./filter.ts";
import { type ItemRow, listItems, pageSize } from "./listItems.ts";

/**
 * The items that match, newest first, page by page. Rows never move by themselves: new items are counted and wait for
 * `showNew`, while the shown rows update their statuses in place.
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
  const head = useQuery({
    queryKey: ["items", "head", filter],
    queryFn: ({ signal }) => listItems(filter, { signal }),
    refetchInterval: useRefreshMs(),
    enabled: list.isSuccess,
  });
  const rows = useMemo(
    () => withNews(list.data?.pages.flat() ?? [], head.data ?? []),
    [list.data, head.data],
  );
  const { newCount, goneCount } = useMemo(
    () => (list.isPlaceholderData || head.data === undefined ? noChange : changeOf(rows, head.data)),
    [list.isPlaceholderData, rows, head.data],
  );
  return {
    list,
    /** The query that refreshes the first page, with its error. */
    head,
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
  };
}

/** The same rows, with their latest statuses. */
function withNews(rows: readonly ItemRow[], news: readonly ItemRow[]): readonly ItemRow[] {
  if (news.length === 0) return rows;
  const byId = new Map(news.map((row) => [row.id, row]));
  return rows.map((row) => byId.get(row.id) ?? row);
}

const noChange = { newCount: 0, goneCount: 0 };

/**
 * Counts items of the refreshed first page that are not listed, whatever their age, and listed items that the refreshed first
 * page should contain but does not.
 */
function changeOf(rows: readonly ItemRow[], news: readonly ItemRow[]): typeof noChange {
  const listed = new Set(rows.map(({ id }) => id));
  const present = new Set(news.map(({ id }) => id));
  const last = news.length < pageSize ? "" : news.at(-1)!.id;
  return {
    newCount: news.filter(({ id }) => !listed.has(id)).length,
    goneCount: rows.filter(({ id }) => id > last && !present.has(id)).length,
  };
}
