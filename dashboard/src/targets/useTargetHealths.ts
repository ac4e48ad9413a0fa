import { useQuery } from "@tanstack/react-query";
import type { ListedHealth, Target } from "../api/shapes.ts";
import { useRefreshMs } from "../live/liveState.ts";
import { unreadOf } from "../states/unread.ts";
import { healthsQuery, mostListed } from "./health.ts";

/** The health of the first {@link mostListed} of these targets by their ids, in one request; empty until it is read. */
export function useTargetHealths(targets: readonly Target[]) {
  const ids = targets.slice(0, mostListed).map(({ id }) => id);
  const query = useQuery({ ...healthsQuery(ids), refetchInterval: useRefreshMs(10_000, 10_000) });
  return {
    healths: new Map<string, ListedHealth>((query.data ?? []).map((health) => [health.target_id, health])),
    unread: unreadOf([query]),
  };
}
