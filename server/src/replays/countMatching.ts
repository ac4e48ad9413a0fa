import { listIds, inSnapshot } from "../events/listEvents.ts";
import type { EventScope } from "../events/store.ts";
import { nobodysId } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";
import { type Filter, pageFilter } from "./replayFilter.ts";

/** How many events of a set are counted while the caller waits, and for how long. */
const maxCounted = 10_000;
const maxMs = 2_000;
const sampleSize = 10;

export interface Matching {
  count: number;
  isExact: boolean;
  sample: string[];
}

/** Counts what fits at these targets, up to a bound of number and time. */
export async function countMatching(
  queries: Queries,
  {
    filter,
    targetIds,
    until,
    scope,
  }: { filter: Filter; targetIds: readonly string[]; until: string; scope: EventScope },
): Promise<Matching> {
  const endsAtMs = performance.now() + maxMs;
  const matching: Matching = { count: 0, isExact: true, sample: [] };
  return inSnapshot(queries, async (snapshot) => {
    for (const targetId of targetIds) {
      const limit = maxCounted - matching.count + 1;
      const page = pageFilter({ filter, targetId, scope }, { after: nobodysId, until, limit });
      const ids = await listIds(snapshot, page, async (statement) => {
        // A walk that finds nothing more comes to its end.
        if (performance.now() > endsAtMs) {
          matching.isExact = false;
          return [];
        }
        return (await statement.execute(snapshot)).rows;
      });
      matching.sample.push(...ids.slice(0, sampleSize - matching.sample.length));
      matching.count += ids.length;
      if (matching.count <= maxCounted && matching.isExact) continue;
      return { ...matching, count: Math.min(matching.count, maxCounted), isExact: false };
    }
    return matching;
  });
}
