import { useQueries } from "@tanstack/react-query";
import type { Target } from "../api/shapes.ts";
import { useRefreshMs } from "../live/liveState.ts";
import { unreadOf } from "../states/unread.ts";
import { type Health, healthQuery } from "../targets/health.ts";

/** More targets than this are not asked about one by one. */
const most = 50;

/** The health of each target that is sent to, by its id; those not read yet are missing, and why. */
export function useTargetHealths(targets: readonly Target[]) {
  const refetchInterval = useRefreshMs(10_000, 10_000);
  return useQueries({
    queries: targets
      .filter(({ kind }) => kind !== "mailbox")
      .slice(0, most)
      .map(({ id }) => Object.assign(healthQuery(id), { refetchInterval })),
    combine: (results) => ({
      healths: new Map<string, Health>(
        results.flatMap(({ data }) => (data === undefined || data === null ? [] : [[data.target_id, data]])),
      ),
      unread: unreadOf(results),
    }),
  });
}
