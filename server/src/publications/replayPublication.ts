import { acceptedStatus, type KindNumber } from "../postgres/kinds.ts";
import type { Static } from "typebox";
import type { ReplayDeps } from "../events/replayEvent.ts";
import { isStanding, replaysOf } from "../events/replaysOf.ts";
import { type EventScope, readEvents, type StoredEvent } from "../events/store.ts";
import { bucketOf, newId } from "../postgres/ids.ts";
import { matchesFilters, openFilters } from "../filters/filter.ts";
import { boolArray, uuidArray } from "../postgres/hot/binaryArray.ts";
import { announceItems } from "../items/announceItems.ts";
import { withPartitions } from "../postgres/partitions.ts";
import { functionQuery, inTransactionOf, type Queries } from "../postgres/tables.ts";
import { itemsWithinReach } from "./readPublication.ts";
import { clockAllowanceMs } from "../erasures/chores.ts";
import { maxItems } from "../intake/publishItems.ts";
import type { PublicationReplay } from "./schemas.ts";

type Replayed = Static<typeof PublicationReplay>;
type ReplayedItem = Replayed["items"][number];
type SkippedItem = Replayed["skipped"][number];

/** The key of a publication of an organization. */
export interface PublicationKey {
  orgId: string;
  id: string;
}

interface FailedReplay extends PublicationKey {
  customerUid: string | undefined;
  isNewWebhookId: boolean;
}

/** The outcome of replaying a publication; `too_large` names the target whose limit is exceeded. */
export type PublicationReplayOutcome =
  | { outcome: "replayed"; replayed: Replayed }
  | { outcome: "not_found" | "erased" | "suspended" | "pending" | "too_many_targets" }
  | { outcome: "too_large"; targetId: string };

/**
 * Replays the items of a publication that are FAILED or DEAD. Leaves out items of which a replay waits or has succeeded, so that
 * the call can be repeated, and items that a caller limited to a customer may not see.
 */
export async function replayToFailed(
  deps: ReplayDeps,
  replay: FailedReplay,
): Promise<PublicationReplayOutcome> {
  deps.clock.refuseApart();
  const replayed = await withPartitions(deps.pool, () => replayFailedItems(deps, replay));
  if (replayed === undefined) return { outcome: "not_found" };
  await announce(deps, replay, replayed.items);
  return { outcome: "replayed", replayed };
}

/** Replays the failed items in one transaction; undefined when the organization has no such publication. */
function replayFailedItems(
  deps: ReplayDeps,
  { orgId, id, customerUid, isNewWebhookId }: FailedReplay,
): Promise<Replayed | undefined> {
  const scope = { orgId, mailboxRetentionMs: deps.config.mailboxRetentionMs };
  return inTransactionOf(deps.queries, async (transaction) => {
    // The lock lets the replays of a publication run one after the other.
    const publication = await publicationOf(transaction, { orgId, id })
      .select("event_ids")
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (publication === undefined) return undefined;
    const stored = await readEvents(transaction, scope, publication.event_ids);
    const events = await itemsWithinReach(transaction, stored, customerUid);
    const failed = events.filter(({ status }) => status === "FAILED" || status === "DEAD");
    const replays = await replaysOf(
      transaction,
      scope,
      failed.map(({ id }) => id),
    );
    const items: ReplayedItem[] = [];
    const skipped: SkippedItem[] = [];
    for (const event of failed) {
      if (replays.get(event.id)?.some(isStanding) === true) continue;
      const made = await replayOne(transaction, event, { scope, nowMs: deps.nowMs(), isNewWebhookId });
      if ("reason" in made) skipped.push(made);
      else items.push(made);
    }
    return { items, skipped };
  });
}

/** Publishes to targets that match now and did not get the publication. The new items are billed. */
export async function publishToAdded(
  deps: ReplayDeps,
  { orgId, id }: PublicationKey,
): Promise<PublicationReplayOutcome> {
  deps.clock.refuseApart();
  const added = await addMatched(deps, { orgId, id });
  if (added === undefined) return { outcome: "erased" };
  const { code, item_ids: ids, target_ids: targetIds, kinds } = added;
  if (code === "l") return { outcome: "too_large", targetId: targetIds?.[0] ?? "" };
  const refusal = addRefusals[code!];
  if (refusal !== undefined) return { outcome: refusal };
  const items = (ids ?? []).map((item, index): ReplayedItem => ({
    id: item!,
    target_id: targetIds![index]!,
    status: acceptedStatus(kinds![index]! as KindNumber),
    source_event_id: null,
  }));
  await announce(deps, { orgId, id }, items);
  return { outcome: "replayed", replayed: { items, skipped: [] } };
}

/** Calls `publish_to_added` until all filters of its targets are matched; undefined when the publication was erased. */
async function addMatched({ pool, queries }: ReplayDeps, { orgId, id }: PublicationKey) {
  const matches: [string, boolean][] = [];
  for (;;) {
    const publish = functionQuery("publish_to_added", {
      p_org: orgId,
      p_publication: id,
      p_most_items: maxItems,
      p_verdict_filters: uuidArray(matches.map(([digest]) => digest)),
      p_verdict_passed: boolArray(matches.map(([, isMatch]) => isMatch)),
      p_erasure_allowance_ms: clockAllowanceMs,
    });
    const { rows } = await withPartitions(pool, () => publish.execute(queries));
    const result = rows[0]!;
    if (result.code !== "v") return result;
    const filters = await openFilters((result.filters ?? []).filter((filter) => filter !== null));
    const filtered = await publicationOf(queries, { orgId, id })
      .select([
        "payload",
        "event_type as eventType",
        "correlation_id as correlationId",
        "ordering_key as orderingKey",
      ])
      .executeTakeFirstOrThrow();
    if (filtered.payload.length === 0) return undefined;
    matches.push(...(await matchesFilters(filtered, filters)));
  }
}

function publicationOf(queries: Queries, { orgId, id }: PublicationKey) {
  return queries
    .selectFrom("publications")
    .where("bucket", "=", bucketOf(id))
    .where("id", "=", id)
    .where("org_id", "=", orgId);
}

/** The codes of `publish_to_added` for refused publications. */
const addRefusals: Readonly<
  Record<string, "not_found" | "erased" | "suspended" | "pending" | "too_many_targets">
> = { n: "not_found", e: "erased", s: "suspended", p: "pending", m: "too_many_targets" };

/** The codes of `replay_event` for events that it did not replay. */
const reasons: Readonly<Record<string, SkippedItem["reason"]>> = {
  g: "target_deleted",
  d: "mailbox_disabled",
  x: "expired",
  e: "erased",
  n: "erased",
};

async function replayOne(
  transaction: Queries,
  event: StoredEvent,
  { scope, nowMs, isNewWebhookId }: { scope: EventScope; nowMs: number; isNewWebhookId: boolean },
): Promise<ReplayedItem | SkippedItem> {
  const id = newId(bucketOf(event.id), nowMs);
  const { rows } = await functionQuery("replay_event", {
    p_org: scope.orgId,
    p_source: event.id,
    p_id: id,
    p_mailbox_retention_ms: scope.mailboxRetentionMs,
    p_new_webhook_id: isNewWebhookId,
  }).execute(transaction);
  const code = rows[0]!.code!;
  if (code !== "a") return { event_id: event.id, reason: reasons[code]! };
  const status = acceptedStatus(event.kind);
  return { id, target_id: event.targetId, status, source_event_id: event.id };
}

/** Announces items of the publication, whose event type they have. */
async function announce(
  deps: ReplayDeps,
  publication: PublicationKey,
  items: readonly ReplayedItem[],
): Promise<void> {
  if (items.length === 0) return;
  const row = await publicationOf(deps.queries, publication).select("event_type").executeTakeFirst();
  const eventType = row?.event_type ?? null;
  announceItems(
    deps,
    items.map(({ id, target_id: targetId, status }) => ({ id, targetId, eventType, status })),
  );
}
