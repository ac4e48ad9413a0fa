import { isPulled } from "../postgres/kinds.ts";
import { mailboxRetentionMs } from "../config/config.ts";
import { ApiError, notFound } from "../http/contract/errors.ts";
import { functionQuery } from "../postgres/functionQuery.ts";
import { idTimeMs } from "../postgres/ids.ts";
import { withPartitions } from "../postgres/partitions.ts";
import type { ReplayDeps } from "./replayEvent.ts";
import { inSnapshot } from "./listEvents.ts";
import type { EventStatus } from "../items/eventStatuses.ts";
import { readEvents } from "./store.ts";

interface Canceled {
  code: "k" | "n" | "w" | "h";
  kind: 1 | 2 | 3;
  target_id: string;
  event_type: string | null;
  mailbox_is_freed: boolean;
}

/**
 * Ends an event that waits as CANCELED: a delivery that no node has in hand, or a message that nobody has claimed.
 * @throws {ApiError} 404 when the organization has no such event, 409 when it has ended, is being sent or claimed, or
 * may have reached its agent.
 */
export async function cancelEvent(
  deps: ReplayDeps,
  orgId: string,
  id: string,
): Promise<{ id: string; status: "CANCELED" }> {
  const cancel = functionQuery("cancel_event", {
    p_org: orgId,
    p_id: id,
    p_mailbox_retention_ms: mailboxRetentionMs(deps.config),
  });
  const { rows } = await withPartitions(deps.pool, () => cancel.execute(deps.queries));
  const canceled = rows[0] as Canceled;
  switch (canceled.code) {
    case "k":
      report(deps, id, canceled);
      return { id, status: "CANCELED" };
    case "n":
      throw notFound();
    case "h":
      throw new ApiError(409, "an earlier message may have reached the agent: cancel its task instead", {
        code: "task_begun",
      });
    case "w":
      throw refusal(await statusNow(deps, orgId, id));
  }
}

async function statusNow(deps: ReplayDeps, orgId: string, id: string): Promise<EventStatus> {
  return inSnapshot(deps.queries, async (snapshot) => {
    const scope = { orgId, mailboxRetentionMs: mailboxRetentionMs(deps.config) };
    const [event] = await readEvents(snapshot, scope, [id]);
    if (event === undefined) throw notFound();
    return event.status;
  });
}

function refusal(status: EventStatus): ApiError {
  if (status === "QUEUED" || status === "RETRYING") {
    return new ApiError(409, "the event is being sent at this moment", { code: "being_sent" });
  }
  if (status === "UNREAD" || status === "CLAIMED") {
    return new ApiError(409, "a consumer has claimed the message", { code: "message_claimed" });
  }
  return new ApiError(409, `the event has ended: it is ${status}`, { code: "event_ended" });
}

/** Tells the streams, and whoever waits for messages when another one took this one's place. */
function report(deps: ReplayDeps, id: string, canceled: Canceled): void {
  const { kind, target_id: targetId, event_type: eventType, mailbox_is_freed: isFreed } = canceled;
  if (isFreed) deps.mailboxes.onMailboxItems([targetId]);
  if (!deps.changes.isWatched()) return;
  deps.changes.publish(targetId, {
    type: "item",
    data: {
      id,
      target_id: targetId,
      event_type: eventType,
      status: "CANCELED",
      created_at: Math.floor(idTimeMs(id) / 1000),
    },
  });
  if (isPulled(kind)) deps.changes.publish(targetId, { type: "mailbox", data: { id: targetId } });
}
