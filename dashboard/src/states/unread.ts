import type { ReadBefore } from "./Loaded.tsx";

interface Read extends ReadBefore {
  data: unknown;
  isPending: boolean;
  isError: boolean;
}

/** The combined state of several queries. */
export interface Unread {
  isPending: boolean;
  /** The error of the first query that failed without data. */
  error: unknown;
  isRefused: boolean;
  retry: () => void;
  /** The oldest stale data; undefined when everything is fresh. */
  old: ReadBefore | undefined;
}

export function unreadOf(queries: readonly Read[]): Unread {
  const refused = queries.filter(({ data, isError }) => isError && data === undefined);
  return {
    isPending: queries.some(({ isPending }) => isPending),
    error: refused[0]?.error,
    isRefused: refused.length > 0,
    retry: () => {
      for (const query of refused) void query.refetch();
    },
    old: oldestOf(queries),
  };
}

function oldestOf(queries: readonly Read[]): ReadBefore | undefined {
  const old = queries.filter(({ data, isError }) => isError && data !== undefined);
  const [oldest] = old.toSorted((one, other) => one.dataUpdatedAt - other.dataUpdatedAt);
  if (oldest === undefined) return undefined;
  const { error, dataUpdatedAt } = oldest;
  return { error, dataUpdatedAt, refetch: () => Promise.all(old.map((query) => query.refetch())) };
}

export function bothUnread(one: Unread, other: Unread): Unread {
  return {
    isPending: one.isPending || other.isPending,
    error: one.isRefused ? one.error : other.error,
    isRefused: one.isRefused || other.isRefused,
    retry: () => {
      one.retry();
      other.retry();
    },
    old: one.old ?? other.old,
  };
}
