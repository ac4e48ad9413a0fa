import { itemChange } from "./changes.ts";
import type { Parts } from "./parts.ts";

/** Tells the dispatcher and the mailboxes of new items that are stored, and reports the items to event streams. */
export function announceItems(
  { onDue, onMailboxItems, changes }: Pick<Parts, "onDue" | "onMailboxItems" | "changes">,
  items: readonly Parameters<typeof itemChange>[0][],
): void {
  const unread = items.filter(({ status }) => status === "UNREAD").map(({ targetId }) => targetId);
  if (unread.length > 0) onMailboxItems([...new Set(unread)]);
  if (items.some(({ status }) => status === "QUEUED")) onDue();
  if (!changes.isWatched()) return;
  for (const item of items) changes.publish(item.targetId, itemChange(item));
}
