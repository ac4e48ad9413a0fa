import { idTimeMs } from "../postgres/ids.ts";
import type { Changes } from "../items/changes.ts";
import type { Acceptance, Lease, LeasedItem, NewItem, UnjudgedItem } from "../items/item.ts";

/** What intake hands its accepted items to. */
export interface ItemSink {
  /** Whether this node has room to dispatch an item of the target from memory. */
  hasRoom(targetId: string): boolean;
  /** Targets of which it can take no more from memory now. */
  fullTargets(): string[];
  /** How long items accepted for immediate dispatch stay leased to this node. */
  newLease(): Lease;
  /** An item that is durable and leased to this node. */
  take(item: NewItem, leased: LeasedItem): void;
  /** Some deliveries to the target became due that this node did not take. */
  onDue(targetId: string): void;
  /** Some mailboxes have new messages. */
  onMailboxItems(mailboxIds: string[]): void;
  changes: Changes;
  /** The database takes no more items, for this reason; not told again until it has taken some. */
  onRefused(error: unknown): void;
  /** Told of each item's key, for `last_used_at`. */
  onKeyUsed(key: string): void;
}

/** Gives what was accepted to whoever sees it through, and tells the streams of it. */
export function handOn(
  sink: ItemSink,
  items: readonly NewItem[],
  acceptances: readonly (Acceptance | UnjudgedItem)[],
): void {
  let due: Set<string> | undefined;
  let mailboxIds: string[] | undefined;
  let notedKey: string | undefined;
  for (let index = 0; index < items.length; index++) {
    const item = items[index]!;
    const acceptance = acceptances[index]!;
    if (acceptance.outcome !== "unauthorized" && item.key !== notedKey) {
      notedKey = item.key;
      sink.onKeyUsed(item.key);
    }
    if (acceptance.outcome === "leased") sink.take(item, acceptance);
    else if (acceptance.outcome === "unread") (mailboxIds ??= []).push(item.targetId);
    else if (acceptance.outcome === "due") (due ??= new Set()).add(item.targetId);
  }
  if (due) for (const targetId of due) sink.onDue(targetId);
  if (mailboxIds) sink.onMailboxItems(mailboxIds);
  if (sink.changes.isWatched()) report(sink.changes, items, acceptances);
}

function report(
  changes: Changes,
  items: readonly NewItem[],
  acceptances: readonly (Acceptance | UnjudgedItem)[],
): void {
  items.forEach(({ id, targetId, eventType }, index) => {
    if (!changes.isTargetWatched(targetId)) return;
    const status = statusOf(acceptances[index]!);
    if (status === undefined) return;
    const created = Math.floor(idTimeMs(id) / 1000);
    const data = { id, target_id: targetId, event_type: eventType, status, created_at: created };
    changes.publish(targetId, { type: "item", data });
  });
}

/** Of an item that was newly accepted. */
function statusOf({ outcome }: Acceptance | UnjudgedItem): "QUEUED" | "UNREAD" | "FILTERED" | undefined {
  if (outcome === "filtered") return "FILTERED";
  if (outcome === "unread") return "UNREAD";
  return outcome === "leased" || outcome === "due" || outcome === "held" ? "QUEUED" : undefined;
}
