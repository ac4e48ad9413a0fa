interface Read {
  data: unknown;
  isPending: boolean;
  isError: boolean;
  error: unknown;
  refetch: () => unknown;
}

/** What is missing of something that several queries tell together. */
export interface Unread {
  isPending: boolean;
  /** Why the first of those that could not be read was refused. */
  error: unknown;
  isRefused: boolean;
  retry: () => void;
}

export function unreadOf(queries: readonly Read[]): Unread {
  const refused = queries.filter(({ data, isError }) => isError && data === undefined);
  return {
    isPending: queries.some(({ isPending }) => isPending),
    error: refused[0]?.error,
    isRefused: refused.length > 0,
    retry: () => {
      for (const query of refused) query.refetch();
    },
  };
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
  };
}
