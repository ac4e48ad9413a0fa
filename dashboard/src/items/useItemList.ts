import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useRefreshMs } from "../live/liveState.ts";
import type { ItemFilter } from "./filter.ts";
import { type ItemRow, listItems, pageSize } from "./listItems.ts";

/**
 * The items that match, newest first, page by page. Rows never move by themselves: what is new is counted and waits for
 * `showNew`, while the rows that are shown take on their new statuses in place.
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
    // Comparing all pages with what they were, at each one more, is what stops a list of 100,000.
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
    /** The first page as it was read last, and why it could not be read again. */
    head,
    rows,
    newCount,
    /** Rows that are shown and whose status has left the filter. Where there is none, items only ever come. */
    goneCount: filter.status === undefined ? 0 : goneCount,
    showNew: () => {
      setGeneration((present) => present + 1);
      // The new list is not to be measured by what was read before it.
      void head.refetch();
    },
  };
}

/** The same rows, with the statuses that were read last. */
function withNews(rows: readonly ItemRow[], news: readonly ItemRow[]): readonly ItemRow[] {
  if (news.length === 0) return rows;
  const byId = new Map(news.map((row) => [row.id, row]));
  return rows.map((row) => byId.get(row.id) ?? row);
}

const noChange = { newCount: 0, goneCount: 0 };

/** How many of the first page, as it was read last, are not listed, whenever they were accepted; and how many are listed that it would have. */
function changeOf(rows: readonly ItemRow[], news: readonly ItemRow[]): typeof noChange {
  const listed = new Set(rows.map(({ id }) => id));
  const present = new Set(news.map(({ id }) => id));
  const last = news.length < pageSize ? "" : news.at(-1)!.id;
  return {
    newCount: news.filter(({ id }) => !listed.has(id)).length,
    goneCount: rows.filter(({ id }) => id > last && !present.has(id)).length,
  };
}
