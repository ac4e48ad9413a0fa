import { isPulled, type KindNumber } from "../postgres/kinds.ts";
import { mailboxRetentionMs } from "../config/config.ts";
import { withPartitions } from "../postgres/partitions.ts";
import { functionQuery } from "../postgres/tables.ts";
import type { ReplayDeps } from "./replayEvent.ts";
import { itemChange } from "../items/changes.ts";
import { inSnapshot } from "./listEvents.ts";
import type { EventStatus } from "../items/eventStatuses.ts";
import { readEvents } from "./store.ts";
import { ApiError, found, notFound } from "../http/contract/errors.ts";

interface Canceled {
  code: "k" | "n" | "w" | "h" | "b";
  kind: KindNumber;
  target_id: string;
  event_type: string | null;
  mailbox_is_freed: boolean;
}

/** How often a message that another transaction has locked is tried again. */
const maxTries = 20;

/**
 * Ends a waiting event as CANCELED: a delivery that no process has leased, or a message that no consumer has claimed.
 * @throws {ApiError} 404; 409 when it has ended, is being sent, is claimed, or may have reached its agent.
 */
export async function cancelEvent(deps: ReplayDeps, orgId: string, id: string): Promise<void> {
  const cancel = functionQuery("cancel_event", {
    p_org: orgId,
    p_id: id,
    p_mailbox_retention_ms: mailboxRetentionMs(deps.config),
  });
  let canceled: Canceled;
  let tries = 0;
  do {
    const { rows } = await withPartitions(deps.pool, () => cancel.execute(deps.queries));
    canceled = rows[0] as Canceled;
  } while (canceled.code === "b" && ++tries < maxTries);
  const { code } = canceled;
  if (code === "n") throw notFound();
  if (code === "h") {
    throw new ApiError(
      409,
      "an earlier message may have reached the agent: cancel its task instead",
      "task_begun",
    );
  }
  if (code !== "k") throw notWaiting(await readStatus(deps, orgId, id));
  report(deps, id, canceled);
}

async function readStatus(deps: ReplayDeps, orgId: string, id: string): Promise<EventStatus> {
  return inSnapshot(deps.queries, async (snapshot) => {
    const scope = { orgId, mailboxRetentionMs: mailboxRetentionMs(deps.config) };
    const [event] = await readEvents(snapshot, scope, [id]);
    return found(event).status;
  });
}

function notWaiting(status: EventStatus): ApiError {
  if (status === "QUEUED" || status === "RETRYING") {
    return new ApiError(409, "the event is being sent at this moment", "being_sent");
  }
  if (status === "UNREAD" || status === "CLAIMED") {
    return new ApiError(409, "a consumer has claimed the message", "message_claimed");
  }
  return new ApiError(409, `the event has ended: it is ${status}`, "event_ended");
}

/** Reports the end to event streams, and wakes waiting claims when another message of its ordering key became ready. */
function report(deps: ReplayDeps, id: string, canceled: Canceled): void {
  const { kind, target_id: targetId, event_type: eventType, mailbox_is_freed: isFreed } = canceled;
  if (isFreed) deps.onMailboxItems([targetId]);
  if (!deps.changes.isWatched()) return;
  deps.changes.publish(targetId, itemChange({ id, targetId, eventType, status: "CANCELED" }));
  if (isPulled(kind)) deps.changes.publish(targetId, { type: "mailbox", data: { id: targetId } });
}
