import { listIds, inSnapshot, searchRests } from "../events/listEvents.ts";
import type { EventScope } from "../events/store.ts";
import { unknownId } from "../postgres/ids.ts";
import { restBetween } from "../runtime/restBetween.ts";
import type { Queries } from "../postgres/tables.ts";
import { pageFilter } from "./replayFilter.ts";
import { type ReplaySet, withoutReplayed } from "./withoutReplayed.ts";

/** How many events of a set are counted while the caller waits, and for how long. */
const maxCounted = 10_000;
const maxMs = 2_000;
const sampleSize = 10;
/** Events looked at together for their replays. */
const perLook = 500;

export interface Matching {
  count: number;
  isExact: boolean;
  sample: string[];
}

/** Counts what fits at these targets, up to a bound of number and time. */
export async function countMatching(
  queries: Queries,
  { set, targetIds, scope }: { set: ReplaySet; targetIds: readonly string[]; scope: EventScope },
): Promise<Matching> {
  const endsAtMs = performance.now() + maxMs;
  const matching: Matching = { count: 0, isExact: true, sample: [] };
  const { filter, until } = set;
  let looked = 0;
  const inSteps = restBetween(searchRests);
  return inSnapshot(queries, async (snapshot) => {
    for (const targetId of targetIds) {
      // A target that can have nothing of the kind still costs a statement.
      if (performance.now() > endsAtMs) return { ...matching, isExact: false };
      const limit = maxCounted - looked + 1;
      const page = pageFilter({ filter, targetId, scope }, { after: unknownId, until, limit });
      const ids = await listIds(snapshot, page, async (statement) => {
        // A walk that finds nothing more comes to its end.
        if (performance.now() > endsAtMs) {
          matching.isExact = false;
          return [];
        }
        return (await inSteps(() => statement.execute(snapshot))).rows;
      });
      looked += ids.length;
      if (looked > maxCounted) {
        matching.isExact = false;
        ids.pop();
      }
      for (let from = 0; from < ids.length; from += perLook) {
        if (performance.now() > endsAtMs) return { ...matching, isExact: false };
        const some = ids.slice(from, from + perLook);
        const kept = await inSteps(() => withoutReplayed(snapshot, set, scope, some));
        matching.sample.push(...kept.slice(0, sampleSize - matching.sample.length));
        matching.count += kept.length;
      }
      if (!matching.isExact) break;
    }
    return matching;
  });
}
