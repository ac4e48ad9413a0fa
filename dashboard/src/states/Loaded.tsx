import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { isPassing, Problem } from "../api/problem.ts";
import { useTimeZone } from "../time/timeZone.ts";
import { shortTime } from "../time/wording.ts";
import { ProblemCard } from "./ProblemCard.tsx";

/**
 * A query's result in each of its states: a skeleton while it loads; the previous result under a thin bar while it is read
 * again; the previous result marked with its time when the service cannot answer; a card for any other error, which stays while
 * it is read again.
 */
export function Loaded<T>({
  query,
  skeleton,
  title,
  children,
}: {
  query: UseQueryResult<T>;
  skeleton?: ReactNode;
  /** The heading above the error, for a page about one object. */
  title?: string;
  children: (data: T) => ReactNode;
}) {
  const error = useLastError(query);
  if (query.data === undefined) {
    if (error !== undefined)
      return (
        <div className="relative grid gap-4">
          {query.isFetching && <FetchingBar />}
          {title !== undefined && <h1 className="text-page font-semibold">{title}</h1>}
          <ProblemCard error={error} onRetry={() => void query.refetch()} />
        </div>
      );
    return <>{skeleton ?? <SkeletonRows rows={4} />}</>;
  }
  return (
    <div className="relative min-w-0">
      {query.isFetching && <FetchingBar />}
      {query.isError && <AsOf query={query} />}
      {children(query.data)}
    </div>
  );
}

/** A query with data whose latest refetch failed. */
export interface ReadBefore {
  error: unknown;
  dataUpdatedAt: number;
  refetch: () => Promise<unknown>;
}

/** Shows the time of stale data, why it could not be read again, and Retry. */
export function AsOf({ query }: { query: ReadBefore }) {
  const zone = useTimeZone();
  // `dataUpdatedAt` is 0 for data that was never refreshed: it is as old as its first display.
  const [shownAtMs] = useState(Date.now);
  return (
    <div className="mb-2 grid gap-2">
      <p className="rounded-control bg-retrying-bg px-3 py-1.5 text-retrying" role="status">
        As of {shortTime((query.dataUpdatedAt || shownAtMs) / 1000, zone)}: {refusal(query.error)}.{" "}
        <button type="button" className="font-medium underline" onClick={() => void query.refetch()}>
          Retry
        </button>
      </p>
    </div>
  );
}

function refusal(error: unknown): string {
  if (isPassing(error)) return "the service is unavailable";
  return error instanceof Problem && error.status === 404
    ? "this no longer exists; another user may have deleted it"
    : "the service refused to read this again";
}

/** A bar of 2 px at the top of content that is being read again. */
export function FetchingBar() {
  return <div className="progress-bar absolute inset-x-0 top-0 z-10 h-0.5 overflow-hidden" aria-hidden />;
}

export function SkeletonRows({ rows }: { rows: number }) {
  return (
    <div className="grid gap-3 p-4" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="skeleton h-5" />
      ))}
    </div>
  );
}

type Failing = Pick<UseQueryResult, "error" | "isError" | "isFetching" | "errorUpdateCount">;

/** The error of a query, also while a query without data is read again: the query itself drops the error then. */
export function useLastError(query: Failing): unknown {
  const [last, setLast] = useState<unknown>();
  if (query.isError && query.error !== last) setLast(query.error);
  if (query.isError) return query.error;
  return query.isFetching && query.errorUpdateCount > 0 ? last : undefined;
}
