import { isPulled, type KindNumber } from "../postgres/kinds.ts";
import { withPartitions } from "../postgres/partitions.ts";
import { functionQuery } from "../postgres/tables.ts";
import type { ReplayDeps } from "./replayEvent.ts";
import { itemChange } from "../items/changes.ts";
import { inSnapshot } from "./listEvents.ts";
import type { EventStatus } from "../items/eventStatuses.ts";
import { readEvents } from "./store.ts";

interface Canceled {
  code: "k" | "n" | "w" | "h" | "b";
  kind: KindNumber;
  target_id: string;
  event_type: string | null;
  mailbox_is_freed: boolean;
}

/** The outcome of canceling an event. `not_waiting`: the event has ended, is being sent, or is claimed; `status` tells which. */
export type CancelOutcome =
  | { outcome: "canceled"; id: string; status: "CANCELED" }
  | { outcome: "not_found" | "task_begun" }
  | { outcome: "not_waiting"; status: EventStatus };

/** The most retries while another transaction has the message locked. */
const maxTries = 20;

/** Ends a waiting event as CANCELED: a delivery that no process has leased, or a message that no consumer has claimed. */
export async function cancelEvent(deps: ReplayDeps, orgId: string, id: string): Promise<CancelOutcome> {
  const cancel = functionQuery("cancel_event", {
    p_org: orgId,
    p_id: id,
    p_mailbox_retention_ms: deps.config.mailboxRetentionMs,
  });
  let canceled: Canceled;
  let tries = 0;
  do {
    const { rows } = await withPartitions(deps.pool, () => cancel.execute(deps.queries));
    canceled = rows[0] as Canceled;
  } while (canceled.code === "b" && ++tries < maxTries);
  const { code } = canceled;
  if (code === "n") return { outcome: "not_found" };
  if (code === "h") return { outcome: "task_begun" };
  if (code !== "k") return readStatus(deps, orgId, id);
  report(deps, id, canceled);
  return { outcome: "canceled", id, status: "CANCELED" };
}

async function readStatus(deps: ReplayDeps, orgId: string, id: string): Promise<CancelOutcome> {
  return inSnapshot(deps.queries, async (snapshot) => {
    const scope = { orgId, mailboxRetentionMs: deps.config.mailboxRetentionMs };
    const [event] = await readEvents(snapshot, scope, [id]);
    return event === undefined ? { outcome: "not_found" } : { outcome: "not_waiting", status: event.status };
  });
}

/** Reports the end to event streams, and wakes long polls if the next message of the ordering key became ready. */
function report(deps: ReplayDeps, id: string, canceled: Canceled): void {
  const { kind, target_id: targetId, event_type: eventType, mailbox_is_freed: isFreed } = canceled;
  if (isFreed) deps.onMailboxItems([targetId]);
  if (!deps.changes.isWatched()) return;
  deps.changes.publish(targetId, itemChange({ id, targetId, eventType, status: "CANCELED" }));
  if (isPulled(kind)) deps.changes.publish(targetId, { type: "mailbox", data: { id: targetId } });
}
