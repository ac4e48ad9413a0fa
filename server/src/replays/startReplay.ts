import { sql } from "kysely";
import { type Config, mailboxRetentionMs } from "../config/config.ts";
import type { Caller } from "../http/contract/credentials.ts";
import { firstIdAt, newRootId } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";
import { countMatching, type Matching } from "./countMatching.ts";
import { refuseUnknownNames } from "./replayFilter.ts";
import type { ReplaySet } from "./withoutReplayed.ts";
import { insertReplay, type StoredReplay, targetsOf } from "./store.ts";

export interface StartDeps {
  config: Pick<Config, "mailboxRetentionSeconds">;
  queries: Queries;
  /** Unix milliseconds. */
  nowMs: () => number;
  /** Tells the local worker that there is a new job. */
  onReplay: () => void;
}

/** Which events a caller asks for. */
type Wanted = Pick<ReplaySet, "filter" | "includeReplayed">;

/** What a replay would be of. @throws {ApiError} 400 for an unknown part of the filter, 404 for an unknown target. */
export async function tryReplay(deps: StartDeps, orgId: string, wanted: Wanted): Promise<Matching> {
  return (await matchingNow(deps, orgId, wanted)).matching;
}

/**
 * Starts a replay of what fits at this moment.
 * @throws {ApiError} as {@link tryReplay}, and 409 when too many are running.
 */
export async function startReplay(
  deps: StartDeps,
  caller: Caller,
  { ratePerSecond, isNewWebhookId, ...wanted }: Wanted & { ratePerSecond: number; isNewWebhookId: boolean },
): Promise<StoredReplay> {
  const { matching, ...set } = await matchingNow(deps, caller.orgId, wanted);
  const replay = await insertReplay(deps.queries, caller, {
    ...set,
    ...wanted,
    id: newRootId(deps.nowMs()),
    ratePerSecond,
    isNewWebhookId,
    total: matching.isExact ? matching.count : null,
  });
  deps.onReplay();
  return replay;
}

async function matchingNow(deps: StartDeps, orgId: string, wanted: Wanted) {
  const { filter } = wanted;
  refuseUnknownNames(filter);
  const targetIds = await targetsOf(deps.queries, orgId, filter);
  const { rows } = await sql<{ now_ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms
  `.execute(deps.queries);
  const createdAtMs = rows[0]!.now_ms;
  // This node's clock may be ahead of the database's, and with it the ids of what it accepted.
  const until = firstIdAt(Math.max(createdAtMs, deps.nowMs()) + 1);
  const scope = { orgId, mailboxRetentionMs: mailboxRetentionMs(deps.config) };
  const matching = await countMatching(deps.queries, { set: { ...wanted, until }, targetIds, scope });
  return { matching, targetIds, createdAtMs, until };
}
