import { useQueries } from "@tanstack/react-query";
import type { Target } from "../api/shapes.ts";
import { useRefreshMs } from "../live/liveState.ts";
import { unreadOf } from "../states/unread.ts";
import { type Health, healthQuery } from "../targets/health.ts";

/** More targets than this, and more mailboxes, are not asked about one by one. */
export const mostLookedAt = 50;

/** Whether some targets are not looked at: whoever counts failures then has to say so. */
export function areSomePassedOver(targets: readonly Target[]): boolean {
  const mailboxes = targets.filter(({ kind }) => kind === "mailbox").length;
  return Math.max(mailboxes, targets.length - mailboxes) > mostLookedAt;
}

/** The health of each target that is sent to, up to {@link mostLookedAt}, by its id; those not read yet are missing, and why. */
export function useTargetHealths(targets: readonly Target[]) {
  const refetchInterval = useRefreshMs(10_000, 10_000);
  return useQueries({
    queries: targets
      .filter(({ kind }) => kind !== "mailbox")
      .slice(0, mostLookedAt)
      .map(({ id }) => Object.assign(healthQuery(id), { refetchInterval })),
    combine: (results) => ({
      healths: new Map<string, Health>(
        results.flatMap(({ data }) => (data === undefined || data === null ? [] : [[data.target_id, data]])),
      ),
      unread: unreadOf(results),
    }),
  });
}
