import { useQuery } from "@tanstack/react-query";
import type { ListedHealth, Target } from "../api/shapes.ts";
import { useRefreshMs } from "../live/liveState.ts";
import { unreadOf } from "../states/unread.ts";
import { healthsQuery } from "./health.ts";

/** The health of these targets by their ids; empty until it is read. */
export function useTargetHealths(targets: readonly Target[]) {
  const ids = targets.map(({ id }) => id);
  const query = useQuery({
    ...healthsQuery(ids),
    refetchInterval: useRefreshMs(10_000, 10_000),
    // Keeps the figures of the shown rows while figures of more rows are read.
    placeholderData: (previous) => previous,
  });
  return {
    healths: new Map<string, ListedHealth>((query.data ?? []).map((health) => [health.target_id, health])),
    unread: unreadOf([query]),
  };
}
