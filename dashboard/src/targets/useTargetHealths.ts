import { useQueries } from "@tanstack/react-query";
import type { ListedHealth, Target } from "../api/shapes.ts";
import { useRefreshMs } from "../live/liveState.ts";
import { unreadOf } from "../states/unread.ts";
import { healthsQuery, mostListed } from "./health.ts";

/** The health of these targets by their ids, in one request for each {@link mostListed} of them; empty until it is read. */
export function useTargetHealths(targets: readonly Target[]) {
  const refetchInterval = useRefreshMs(10_000, 10_000);
  const pages = Array.from({ length: Math.ceil(targets.length / mostListed) }, (_, page) =>
    targets.slice(page * mostListed, (page + 1) * mostListed).map(({ id }) => id),
  );
  const queries = useQueries({
    queries: pages.map((ids) => Object.assign(healthsQuery(ids), { refetchInterval })),
  });
  const healths = queries.flatMap(({ data }) => data ?? []);
  return {
    healths: new Map<string, ListedHealth>(healths.map((health) => [health.target_id, health])),
    unread: unreadOf(queries),
  };
}
