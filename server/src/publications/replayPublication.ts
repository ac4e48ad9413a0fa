import { acceptedStatus } from "../postgres/kinds.ts";
import type { Static } from "typebox";
import { mailboxRetentionMs } from "../config/config.ts";
import type { ReplayDeps } from "../events/replayEvent.ts";
import { latestReplays } from "../events/replaysOf.ts";
import { type EventScope, readEvents, type StoredEvent } from "../events/store.ts";
import { ApiError, notFound, workspacePending, workspaceSuspended } from "../http/contract/errors.ts";
import { bucketOf, newId } from "../postgres/ids.ts";
import { type Filtered, matchesFilters, openFilters } from "../filters/filter.ts";
import { boolArray, uuidArray } from "../postgres/hot/binaryArray.ts";
import { functionQuery } from "../postgres/functionQuery.ts";
import { withPartitions } from "../postgres/partitions.ts";
import { inTransactionOf, type Queries } from "../postgres/tables.ts";
import { itemsWithinReach } from "./itemsWithinReach.ts";
import { maxItems } from "../intake/publishItems.ts";
import { largerThan, tooManyTargets } from "../intake/refusals.ts";
import type { PublicationReplay } from "./schemas.ts";

type Replayed = Static<typeof PublicationReplay>;
type ReplayedItem = Replayed["items"][number];
type SkippedItem = Replayed["skipped"][number];

/** Names a publication of an organization. */
export interface PublicationKey {
  orgId: string;
  id: string;
}

interface FailedReplay extends PublicationKey {
  customerUid: string | undefined;
  isNewWebhookId: boolean;
}

/**
 * Delivers once more what of a publication failed or is dead. An item whose latest replay waits or went through is left
 * alone, so that the call can be repeated.
 * @param key with the customer that the caller is limited to, if it is: what is beyond it is left alone, too.
 * @throws {ApiError} 404 when the organization has no such publication.
 */
export async function replayToFailed(
  deps: ReplayDeps,
  { orgId, id, customerUid, isNewWebhookId }: FailedReplay,
): Promise<Replayed> {
  deps.clock.refuseApart();
  const replayed = await withPartitions(deps.pool, () =>
    replayFailedItems(deps, { orgId, id, customerUid, isNewWebhookId }),
  );
  tell(deps, replayed.items);
  return replayed;
}

/** In one transaction. */
function replayFailedItems(
  deps: ReplayDeps,
  { orgId, id, customerUid, isNewWebhookId }: FailedReplay,
): Promise<Replayed> {
  const scope = { orgId, mailboxRetentionMs: mailboxRetentionMs(deps.config) };
  return inTransactionOf(deps.queries, async (transaction) => {
    const stored = await readEvents(transaction, scope, await lockedItems(transaction, { orgId, id }));
    const events = await itemsWithinReach(transaction, stored, customerUid);
    const replays = await latestReplays(
      transaction,
      scope,
      events.map(({ id }) => id),
    );
    const items: ReplayedItem[] = [];
    const skipped: SkippedItem[] = [];
    for (const event of events) {
      if (!isFailed(replays.get(event.id) ?? event)) continue;
      const made = await replayOne(transaction, event, { scope, nowMs: deps.nowMs(), isNewWebhookId });
      if ("reason" in made) skipped.push(made);
      else items.push(made);
    }
    return { items, skipped };
  });
}

/**
 * Sends a publication to targets that it would reach now and has not reached: new items, which are billed.
 * @throws {ApiError} 404 when the organization has no such publication, 410 when its payload was erased, 402 and 403 as
 * for publishing, 409 and 413 when it reaches too many targets or one that takes no payload as large.
 */
export async function publishToAdded(deps: ReplayDeps, { orgId, id }: PublicationKey): Promise<Replayed> {
  deps.clock.refuseApart();
  const { code, item_ids: ids, target_ids: targetIds, kinds } = await addJudged(deps, { orgId, id });
  const refusal = refusalTo(code!, targetIds?.[0] ?? "");
  if (refusal !== undefined) throw refusal;
  const items = (ids ?? []).map((item, index): ReplayedItem => ({
    id: item!,
    target_id: targetIds![index]!,
    status: kinds![index] === 2 ? "UNREAD" : "QUEUED",
    source_event_id: null,
  }));
  tell(deps, items);
  return { items, skipped: [] };
}

/** Calls `publish_to_added` until the publication was judged by the filters of all targets that it would reach. */
async function addJudged({ pool, queries }: ReplayDeps, { orgId, id }: PublicationKey) {
  const matches: [string, boolean][] = [];
  for (;;) {
    const publish = functionQuery("publish_to_added", {
      p_org: orgId,
      p_publication: id,
      p_most_items: maxItems,
      p_verdict_filters: uuidArray(matches.map(([digest]) => digest)),
      p_verdict_passed: boolArray(matches.map(([, isMatch]) => isMatch)),
    });
    const { rows } = await withPartitions(pool, () => publish.execute(queries));
    const result = rows[0]!;
    if (result.code !== "v") return result;
    const filters = await openFilters((result.filters ?? []).filter((filter) => filter !== null));
    matches.push(...(await matchesFilters(await readFiltered(queries, { orgId, id }), filters)));
  }
}

/** What filters look at of a publication. @throws {ApiError} 410 when it was erased. */
async function readFiltered(queries: Queries, { orgId, id }: PublicationKey): Promise<Filtered> {
  const filtered = await queries
    .selectFrom("publications")
    .select([
      "payload",
      "event_type as eventType",
      "correlation_id as correlationId",
      "ordering_key as orderingKey",
    ])
    .where("bucket", "=", bucketOf(id))
    .where("id", "=", id)
    .where("org_id", "=", orgId)
    .executeTakeFirstOrThrow();
  if (filtered.payload.length === 0) throw payloadErased();
  return filtered;
}

function payloadErased(): ApiError {
  return new ApiError(410, "the payload was erased", { code: "payload_gone" });
}

/** The letters of `publish_to_added` for what it did not do. */
function refusalTo(code: string, targetId: string): ApiError | undefined {
  switch (code) {
    case "n":
      return notFound();
    case "e":
      return payloadErased();
    case "s":
      return workspaceSuspended();
    case "p":
      return workspacePending();
    case "l":
      return largerThan(targetId);
    case "m":
      return tooManyTargets();
    default:
      return undefined;
  }
}

/** The items of a publication, and the lock by which two replays of it follow one another. */
async function lockedItems(transaction: Queries, { orgId, id }: PublicationKey): Promise<string[]> {
  const row = await transaction
    .selectFrom("publications")
    .select("event_ids")
    .where("bucket", "=", bucketOf(id))
    .where("id", "=", id)
    .where("org_id", "=", orgId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (row === undefined) throw notFound();
  return row.event_ids;
}

function isFailed({ status }: StoredEvent): boolean {
  return status === "FAILED" || status === "DEAD";
}

/** The letters of `replay_event` for what it did not replay. */
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

function tell(deps: ReplayDeps, items: readonly ReplayedItem[]): void {
  const mailboxIds = items.filter(({ status }) => status === "UNREAD").map((item) => item.target_id);
  if (mailboxIds.length > 0) deps.mailboxes.onMailboxItems(mailboxIds);
  if (mailboxIds.length < items.length) deps.onDue();
}
