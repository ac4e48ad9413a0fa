import type { ChangeCounts, Changes } from "../../items/changes.ts";

/** How often this thread reports its counts to the main one. */
const tellEveryMs = 200;

const counted = { delivered: "delivered", retrying: "retried", failed: "failed" } as const;

/** Counts the attempts of this thread for the streams of the process, while somebody watches. */
export function countChanges(
  watchedFlag: Int32Array<SharedArrayBuffer>,
  tell: (counts: Map<string, ChangeCounts>) => void,
): Changes {
  let counts = new Map<string, ChangeCounts>();
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    timer = undefined;
    tell(counts);
    counts = new Map();
  }

  return {
    isWatched: () => watchedFlag[0] === 1,
    // Which organizations are watched is known to the main thread.
    isTargetWatched: () => watchedFlag[0] === 1,
    publish(targetId, change) {
      if (change.type !== "attempt") return;
      const sum = counts.get(targetId) ?? { accepted: 0, delivered: 0, retried: 0, failed: 0 };
      sum[counted[change.data.outcome]]++;
      counts.set(targetId, sum);
      timer ??= setTimeout(flush, tellEveryMs);
    },
    // A target that is lent is neither changed nor disabled here without the main thread seeing it by its version.
    publishTarget: () => undefined,
    count: () => undefined,
  };
}
