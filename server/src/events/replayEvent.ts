import { acceptedStatus, isPulled } from "../postgres/kinds.ts";
import type pg from "pg";
import { type Config, mailboxRetentionMs } from "../config/config.ts";
import type { ClockCheck } from "../postgres/clock.ts";
import { functionQuery } from "../postgres/functionQuery.ts";
import { bucketOf, idTimeMs, newId } from "../postgres/ids.ts";
import { withPartitions } from "../postgres/partitions.ts";
import type { Queries } from "../postgres/tables.ts";
import type { Changes } from "../items/changes.ts";
import { ApiError, mailboxDisabled, notFound } from "../http/contract/errors.ts";
import type { Mailboxes } from "../mailbox/mailboxes.ts";
import { inSnapshot } from "./listEvents.ts";
import { readProgress } from "./progress.ts";
import { readEvents } from "./store.ts";

export interface ReplayDeps {
  config: Pick<Config, "mailboxRetentionSeconds">;
  queries: Queries;
  pool: pg.Pool;
  /** Unix milliseconds. */
  nowMs: () => number;
  clock: Pick<ClockCheck, "refuseApart">;
  /** Tells the local dispatcher that something may have become due. */
  onDue: () => void;
  changes: Changes;
  mailboxes: Pick<Mailboxes, "onMailboxItems">;
}

interface Replayed {
  code: "a" | "n" | "g" | "d" | "x" | "e";
  kind: 1 | 2 | 3;
  target_id: string;
}

/**
 * Delivers an event's payload once more, as a new event that costs nothing and points to this one; this one and
 * its attempts stay as they are. Two calls make two events. Its deliveries carry this one's `webhook-id`, unless `isNewWebhookId`.
 * @throws {ApiError} 404 when the organization has no such event, 409 while it is still being delivered, and when its
 * target is gone or its mailbox disabled, 410 when its payload was erased.
 */
export async function replayEvent(
  deps: ReplayDeps,
  orgId: string,
  sourceId: string,
  { isNewWebhookId = false }: { isNewWebhookId?: boolean } = {},
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
  switch (code) {
    case "a":
      if (deps.changes.isWatched()) await reportReplay(deps, sourceId, { id, targetId, kind });
      if (isPulled(kind)) deps.mailboxes.onMailboxItems([targetId]);
      else deps.onDue();
      return { id, status: acceptedStatus(kind) };
    case "n":
      throw notFound();
    case "g":
      throw new ApiError(409, "the target of this event was deleted");
    case "d":
      throw mailboxDisabled();
    case "x":
      throw new ApiError(409, "the message has expired, and its payload with it");
    case "e":
      throw new ApiError(410, "the payload was erased", { code: "payload_gone" });
  }
}

/**
 * What still waits is delivered anyway: a replay would come beside it. Nothing that has ended waits again, so that the
 * event need not be looked at in the transaction that makes the replay.
 */
async function refuseWaiting(deps: ReplayDeps, orgId: string, sourceId: string): Promise<void> {
  await inSnapshot(deps.queries, async (snapshot) => {
    const retentionMs = mailboxRetentionMs(deps.config);
    const [source] = await readEvents(snapshot, { orgId, mailboxRetentionMs: retentionMs }, [sourceId]);
    if (source === undefined) throw notFound();
    const { status } = source;
    if (status !== "QUEUED" && status !== "RETRYING") return;
    const { dueAtMs } = (await readProgress(snapshot, [source])).get(sourceId)!;
    const next =
      dueAtMs === null
        ? "it is being delivered, or held until its target is enabled"
        : `its next attempt is due at ${new Date(dueAtMs).toISOString()}`;
    throw new ApiError(409, `the event is still ${status}: ${next}`, {
      code: status === "QUEUED" ? "still_queued" : "still_retrying",
    });
  });
}

/** Tells the streams of the new event. */
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
  const data = {
    id,
    target_id: targetId,
    event_type: source?.event_type ?? null,
    status: acceptedStatus(kind),
    created_at: Math.floor(idTimeMs(id) / 1000),
  };
  deps.changes.publish(targetId, { type: "item", data });
}
