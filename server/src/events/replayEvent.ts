import { acceptedStatus, type KindNumber } from "../postgres/kinds.ts";
import type { Config } from "../config/config.ts";
import type { ClockCheck } from "../postgres/clock.ts";
import { bucketOf, newId } from "../postgres/ids.ts";
import { withPartitions } from "../postgres/partitions.ts";
import { functionQuery } from "../postgres/tables.ts";
import { announceItems } from "../items/announceItems.ts";
import { inSnapshot } from "./listEvents.ts";
import { readProgress } from "./progress.ts";
import { readEvents, type StoredEvent } from "./store.ts";
import type { Parts } from "../items/parts.ts";

export interface ReplayDeps extends Pick<
  Parts,
  "queries" | "pool" | "nowMs" | "onDue" | "onMailboxItems" | "changes"
> {
  config: Pick<Config, "mailboxRetentionMs">;
  clock: Pick<ClockCheck, "refuseApart">;
}

interface Replayed {
  code: "a" | keyof typeof refusals;
  kind: KindNumber;
  target_id: string;
}

/** The outcome of a replay: the new event, or why there is none. */
export type ReplayOutcome =
  | { outcome: "replayed"; id: string; status: "QUEUED" | "UNREAD" }
  | StillWaiting
  | { outcome: "not_found" | "target_deleted" | "mailbox_disabled" | "expired" | "erased" };

/** The event is still due by its own schedule; `dueAtMs` is null while it is being sent or held. */
interface StillWaiting {
  outcome: "still_waiting";
  status: "QUEUED" | "RETRYING";
  dueAtMs: number | null;
}

/**
 * Delivers an event's payload once more, as a new event that is not billed and names this one as its source. The event and its
 * attempts stay as they are. Two calls make two events. Deliveries carry the source's `webhook-id`, unless `isNewWebhookId`.
 */
export async function replayEvent(
  deps: ReplayDeps,
  orgId: string,
  sourceId: string,
  { isNewWebhookId = false }: { isNewWebhookId?: boolean } = {},
): Promise<ReplayOutcome> {
  deps.clock.refuseApart();
  const source = await findSource(deps, orgId, sourceId);
  if ("outcome" in source) return source;
  const id = newId(bucketOf(sourceId), deps.nowMs());
  const { rows } = await withPartitions(deps.pool, () =>
    functionQuery("replay_event", {
      p_org: orgId,
      p_source: sourceId,
      p_id: id,
      p_mailbox_retention_ms: deps.config.mailboxRetentionMs,
      p_new_webhook_id: isNewWebhookId,
    }).execute(deps.queries),
  );
  const { code, kind, target_id: targetId } = rows[0] as Replayed;
  if (code !== "a") return { outcome: refusals[code] };
  const status = acceptedStatus(kind);
  announceItems(deps, [{ id, targetId, eventType: source.eventType, status }]);
  return { outcome: "replayed", id, status };
}

/** The codes of `replay_event` for events that it did not replay. */
const refusals = {
  n: "not_found",
  g: "target_deleted",
  d: "mailbox_disabled",
  x: "expired",
  e: "erased",
} as const;

/**
 * Reads the event, unless it is missing or still due. An event that is still due is delivered anyway, so that a replay would
 * deliver it twice. An event that has ended is never due again, so the check need not be in the transaction of the replay.
 */
async function findSource(
  deps: ReplayDeps,
  orgId: string,
  sourceId: string,
): Promise<StoredEvent | StillWaiting | { outcome: "not_found" }> {
  return inSnapshot(deps.queries, async (snapshot) => {
    const scope = { orgId, mailboxRetentionMs: deps.config.mailboxRetentionMs };
    const [source] = await readEvents(snapshot, scope, [sourceId]);
    if (source === undefined) return { outcome: "not_found" };
    const { status } = source;
    if (status !== "QUEUED" && status !== "RETRYING") return source;
    const { dueAtMs } = (await readProgress(snapshot, [source])).get(sourceId)!;
    return { outcome: "still_waiting", status, dueAtMs };
  });
}
