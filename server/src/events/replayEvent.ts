import { acceptedStatus, isPulled, type KindNumber } from "../postgres/kinds.ts";
import { type Config, mailboxRetentionMs } from "../config/config.ts";
import type { ClockCheck } from "../postgres/clock.ts";
import { bucketOf, newId } from "../postgres/ids.ts";
import { withPartitions } from "../postgres/partitions.ts";
import { functionQuery } from "../postgres/tables.ts";
import { itemChange } from "../items/changes.ts";
import { inSnapshot } from "./listEvents.ts";
import { readProgress } from "./progress.ts";
import { readEvents } from "./store.ts";
import type { Parts } from "../items/parts.ts";
import { ApiError, found, notFound, mailboxDisabled, payloadErased } from "../http/contract/errors.ts";

export interface ReplayDeps extends Pick<
  Parts,
  "queries" | "pool" | "nowMs" | "onDue" | "onMailboxItems" | "changes"
> {
  config: Pick<Config, "mailboxRetentionSeconds">;
  clock: Pick<ClockCheck, "refuseApart">;
}

interface Replayed {
  code: "a" | keyof typeof refusals;
  kind: KindNumber;
  target_id: string;
}

/**
 * Delivers an event's payload once more, as a new event that is not billed and names this one as its source. The event and its
 * attempts stay as they are. Two calls make two events. Deliveries carry the source's `webhook-id`, unless `isNewWebhookId`.
 * @throws {ApiError} 404; 409 when the event is still due by its own schedule, or its target or payload is gone; 410 when it was erased.
 */
export async function replayEvent(
  deps: ReplayDeps,
  orgId: string,
  sourceId: string,
  { isNewWebhookId }: { isNewWebhookId: boolean },
): Promise<{ id: string; status: "QUEUED" | "UNREAD" }> {
  deps.clock.refuseApart();
  await refuseWaiting(deps, orgId, sourceId);
  const id = newId(bucketOf(sourceId), deps.nowMs());
  const { rows } = await withPartitions(deps.pool, () =>
    functionQuery("replay_event", {
      p_org: orgId,
      p_source: sourceId,
      p_id: id,
      p_mailbox_retention_ms: mailboxRetentionMs(deps.config),
      p_new_webhook_id: isNewWebhookId,
    }).execute(deps.queries),
  );
  const { code, kind, target_id: targetId } = rows[0] as Replayed;
  if (code !== "a") throw refusals[code]();
  if (deps.changes.isWatched()) await reportReplay(deps, sourceId, { id, targetId, kind });
  if (isPulled(kind)) deps.onMailboxItems([targetId]);
  else deps.onDue();
  return { id, status: acceptedStatus(kind) };
}

/** By the codes of `replay_event` for events that it did not replay. */
const refusals = {
  n: notFound,
  g: () => new ApiError(409, "the target of this event was deleted", "target_deleted"),
  d: mailboxDisabled,
  x: () => new ApiError(409, "the message has expired, and its payload with it", "message_ended"),
  e: payloadErased,
};

/**
 * Refuses an event that is missing or still due: that is delivered anyway, and a replay would be a second delivery. An event
 * that has ended is never due again, so the check need not be in the transaction of the replay.
 */
async function refuseWaiting(deps: ReplayDeps, orgId: string, sourceId: string): Promise<void> {
  await inSnapshot(deps.queries, async (snapshot) => {
    const retentionMs = mailboxRetentionMs(deps.config);
    const [event] = await readEvents(snapshot, { orgId, mailboxRetentionMs: retentionMs }, [sourceId]);
    const source = found(event);
    const { status } = source;
    if (status !== "QUEUED" && status !== "RETRYING") return;
    const { dueAtMs } = (await readProgress(snapshot, [source])).get(sourceId)!;
    const next =
      dueAtMs === null
        ? "it is being delivered, or held until its target is enabled"
        : `its next attempt is due at ${new Date(dueAtMs).toISOString()}`;
    const code = status === "QUEUED" ? "still_queued" : "still_retrying";
    throw new ApiError(409, `the event is still ${status}: ${next}`, code);
  });
}

/** Reports the new event to event streams. */
async function reportReplay(
  deps: ReplayDeps,
  sourceId: string,
  { id, targetId, kind }: { id: string; targetId: string; kind: Replayed["kind"] },
): Promise<void> {
  const source = await deps.queries
    .selectFrom("events")
    .select("event_type")
    .where("bucket", "=", bucketOf(sourceId))
    .where("target_id", "=", targetId)
    .where("id", "=", sourceId)
    .executeTakeFirst();
  const eventType = source?.event_type ?? null;
  deps.changes.publish(targetId, itemChange({ id, targetId, eventType, status: acceptedStatus(kind) }));
}
