import type pg from "pg";
import type { Changes } from "../items/changes.ts";
import { callFunction } from "../postgres/hot/callFunction.ts";
import { withPartitions } from "../postgres/partitions.ts";
import { idTimeMs } from "../postgres/ids.ts";

export interface TellDeps {
  pool: pg.Pool;
  changes: Changes;
  /** Tells the local dispatcher that something became due. */
  onDue: () => void;
  /** Tells those who wait for messages, and who watches, that these mailboxes have some. */
  onMailboxItems: (mailboxIds: string[]) => void;
}

interface Told {
  item_id: string;
  listener_id: string;
  listener_kind: "webhook" | "mailbox";
  event_type: string;
  status: "QUEUED" | "UNREAD" | "FILTERED";
}

/** Subjects of one call; what is left is told by the next. */
const maxSubjects = 100;
/** Of one target, failed events are told at most so often, and so are dead messages. */
const paceMs = 60_000;

/** Makes items of the operational events that were noted. @returns how many items. */
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
  const mailboxes = rows.filter(({ listener_kind: kind }) => kind === "mailbox");
  if (mailboxes.length > 0) onMailboxItems(mailboxes.map(({ listener_id: id }) => id));
  return rows.length;
}
