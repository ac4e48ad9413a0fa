import type { UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";

type Failing = Pick<UseQueryResult, "error" | "isError" | "isFetching" | "errorUpdateCount">;

/** The error of a query, also while a query without data is read again: the query itself drops the error then. */
export function useLastError(query: Failing): unknown {
  const [last, setLast] = useState<unknown>();
  if (query.isError && query.error !== last) setLast(query.error);
  if (query.isError) return query.error;
  return query.isFetching && query.errorUpdateCount > 0 ? last : undefined;
}
