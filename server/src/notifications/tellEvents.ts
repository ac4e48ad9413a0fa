import { callFunction } from "../postgres/hot/callFunction.ts";
import { withPartitions } from "../postgres/partitions.ts";
import { idTimeMs } from "../postgres/ids.ts";
import { isPulled, kindNumbers, type TargetKind } from "../postgres/kinds.ts";
import type { Parts } from "../items/parts.ts";

export type TellDeps = Pick<Parts, "pool" | "changes" | "onDue" | "onMailboxItems">;

interface Told {
  item_id: string;
  listener_id: string;
  listener_kind: TargetKind;
  event_type: string;
  status: "QUEUED" | "UNREAD" | "FILTERED";
}

/** The most subjects of one call; the next call takes the rest. */
const maxSubjects = 100;
/** The least time between two notifications of a target's failed events, and of its dead messages. */
const paceMs = 60_000;

/** Creates items from the stored operational events. @returns how many items. */
export async function tellEvents({ pool, changes, onDue, onMailboxItems }: TellDeps): Promise<number> {
  const rows = (await withPartitions(pool, () =>
    callFunction(pool, "tell_operational_events", {
      p_limit: maxSubjects,
      p_pace_ms: paceMs,
    }),
  )) as Told[];
  if (changes.isWatched()) {
    for (const { item_id: id, listener_id: targetId, event_type, status } of rows) {
      const createdAt = Math.floor(idTimeMs(id) / 1000);
      const data = { id, target_id: targetId, event_type, status, created_at: createdAt };
      changes.publish(targetId, { type: "item", data });
    }
  }
  if (rows.some(({ status }) => status === "QUEUED")) onDue();
  const mailboxes = rows.filter(({ listener_kind: kind }) => isPulled(kindNumbers[kind]));
  if (mailboxes.length > 0) onMailboxItems(mailboxes.map(({ listener_id: id }) => id));
  return rows.length;
}
