import { type Changes, itemChange } from "../items/changes.ts";
import type { Acceptance, Lease, LeasedItem, NewItem, UnmatchedItem } from "../items/item.ts";

/** The part of the dispatcher that intake uses. */
export interface ItemDispatcher {
  /** Whether this node has room to dispatch an item of the target from memory. */
  hasRoom(targetId: string): boolean;
  /** How many items of publications this node has room to dispatch from memory. */
  roomForPublications(): number;
  /** Targets whose queues in memory are full. */
  fullTargets(): string[];
  /** A new lease for items that are accepted for immediate dispatch by this node. */
  newLease(): Lease;
  /** Hands over an item that is durable and leased to this node. */
  take(item: NewItem, leased: LeasedItem): void;
  /** Called when deliveries to the target became due that are not leased to this node. */
  onDue(targetId: string): void;
}

/** Receives accepted items, and reports about them. */
export interface ItemSink {
  dispatcher: ItemDispatcher;
  /** Called when mailboxes have new messages. */
  onMailboxItems(mailboxIds: string[]): void;
  changes: Changes;
  /** Called once per outage, with the reason why the database refuses batches. */
  onRefused(error: unknown): void;
  /** Called with each item's API key, for `last_used_at`. */
  onKeyUsed(key: string): void;
}

/** Passes accepted items on to the dispatcher or the mailboxes, and reports them to event streams. */
export function dispatchAccepted(
  sink: ItemSink,
  items: readonly NewItem[],
  acceptances: readonly (Acceptance | UnmatchedItem)[],
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
    if (acceptance.outcome === "leased") sink.dispatcher.take(item, acceptance);
    else if (acceptance.outcome === "unread") (mailboxIds ??= []).push(item.targetId);
    else if (acceptance.outcome === "due") (due ??= new Set()).add(item.targetId);
  }
  if (due) for (const targetId of due) sink.dispatcher.onDue(targetId);
  if (mailboxIds) sink.onMailboxItems(mailboxIds);
  if (sink.changes.isWatched()) report(sink.changes, items, acceptances);
}

function report(
  changes: Changes,
  items: readonly NewItem[],
  acceptances: readonly (Acceptance | UnmatchedItem)[],
): void {
  items.forEach(({ id, targetId, eventType }, index) => {
    if (!changes.isTargetWatched(targetId)) return;
    const status = statusOf(acceptances[index]!);
    if (status !== undefined) changes.publish(targetId, itemChange({ id, targetId, eventType, status }));
  });
}

/** The status that a stream shows; undefined unless the item is new. */
function statusOf({ outcome }: Acceptance | UnmatchedItem): "QUEUED" | "UNREAD" | "FILTERED" | undefined {
  if (outcome === "filtered") return "FILTERED";
  if (outcome === "unread") return "UNREAD";
  return outcome === "leased" || outcome === "due" || outcome === "held" ? "QUEUED" : undefined;
}
