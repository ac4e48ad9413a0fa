import { sql } from "kysely";
import type { Static } from "typebox";
import type { Config } from "../config/config.ts";
import type { Caller } from "../http/contract/credentials.ts";
import { firstIdAt, newRootId, unknownId } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";
import type { DryRun } from "./schemas.ts";
import { insertReplay, type StoredReplay, targetsOf } from "./store.ts";
import { inSnapshot, listIds, searchRests } from "../events/listEvents.ts";
import type { EventScope } from "../events/store.ts";
import { restBetween } from "../runtime/restBetween.ts";
import { pageFilter, type ReplaySet, withoutReplayed } from "./replayFilter.ts";
import type { Parts } from "../items/parts.ts";

export interface StartDeps extends Pick<Parts, "queries" | "nowMs"> {
  config: Pick<Config, "mailboxRetentionMs">;
  /** Notifies the local worker of a new job. */
  onReplay: () => void;
}

type Wanted = Pick<ReplaySet, "filter" | "includeReplayed">;

/** Counts the events of a replay; undefined if the organization has no target with the given id. */
export async function tryReplay(
  deps: StartDeps,
  orgId: string,
  wanted: Wanted,
): Promise<Matching | undefined> {
  return (await matchingNow(deps, orgId, wanted))?.matching;
}

export type StartOutcome =
  | { outcome: "started"; replay: StoredReplay }
  | { outcome: "unknown_target" | "too_many_running" };

/** Starts a replay of the events that match now. */
export async function startReplay(
  deps: StartDeps,
  caller: Caller,
  { ratePerSecond, isNewWebhookId, ...wanted }: Wanted & { ratePerSecond: number; isNewWebhookId: boolean },
): Promise<StartOutcome> {
  const found = await matchingNow(deps, caller.orgId, wanted);
  if (found === undefined) return { outcome: "unknown_target" };
  const { matching, ...set } = found;
  const replay = await insertReplay(deps.queries, caller, {
    ...set,
    ...wanted,
    id: newRootId(deps.nowMs()),
    ratePerSecond,
    isNewWebhookId,
    total: matching.count_is_exact ? matching.count : null,
  });
  if (replay === undefined) return { outcome: "too_many_running" };
  deps.onReplay();
  return { outcome: "started", replay };
}

async function matchingNow(deps: StartDeps, orgId: string, wanted: Wanted) {
  const targetIds = await targetsOf(deps.queries, orgId, wanted.filter);
  if (targetIds === undefined) return undefined;
  const { rows } = await sql<{ now_ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms
  `.execute(deps.queries);
  const createdAtMs = rows[0]!.now_ms;
  // This node's clock may be ahead of the database's clock, and so may the ids of the items that it accepted.
  const until = firstIdAt(Math.max(createdAtMs, deps.nowMs()) + 1);
  const scope = { orgId, mailboxRetentionMs: deps.config.mailboxRetentionMs };
  const matching = await countMatching(deps.queries, { set: { ...wanted, until }, targetIds, scope });
  return { matching, targetIds, createdAtMs, until };
}

/** Limits of the count while the caller waits: number of events and milliseconds. */
const maxCounted = 10_000;
const maxMs = 2_000;
const sampleSize = 10;
/** Number of events whose replays are read in one step. */
const perLook = 500;

type Matching = Static<typeof DryRun>;

/** Counts the matching events of these targets, up to a limit of number and time. */
async function countMatching(
  queries: Queries,
  { set, targetIds, scope }: { set: ReplaySet; targetIds: readonly string[]; scope: EventScope },
): Promise<Matching> {
  const endsAtMs = performance.now() + maxMs;
  const matching: Matching = { count: 0, count_is_exact: true, sample: [] };
  const { filter, until } = set;
  let looked = 0;
  const inSteps = restBetween(searchRests);
  return inSnapshot(queries, async (snapshot) => {
    for (const targetId of targetIds) {
      // Checked for each target, because a target without matching events also costs a statement.
      if (performance.now() > endsAtMs) return { ...matching, count_is_exact: false };
      const limit = maxCounted - looked + 1;
      const page = pageFilter({ filter, targetId, scope }, { after: unknownId, until, limit });
      const { ids, reachedId } = await listIds(snapshot, page, {
        run: async (statement) => (await inSteps(() => statement.execute(snapshot))).rows,
        isOver: () => performance.now() > endsAtMs,
      });
      looked += ids.length;
      matching.count_is_exact = reachedId === undefined && looked <= maxCounted;
      if (looked > maxCounted) ids.pop();
      for (let from = 0; from < ids.length; from += perLook) {
        if (performance.now() > endsAtMs) return { ...matching, count_is_exact: false };
        const some = ids.slice(from, from + perLook);
        const kept = await inSteps(() => withoutReplayed(snapshot, set, scope, some));
        matching.sample.push(...kept.slice(0, sampleSize - matching.sample.length));
        matching.count += kept.length;
      }
      if (!matching.count_is_exact) break;
    }
    return matching;
  });
}
