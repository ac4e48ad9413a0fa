import type { PublicationItem, PublicationReplay, Status } from "../api/shapes.ts";
import { statusLooks } from "../items/statuses.ts";
import type { ReplayedTo } from "./publicationQueries.ts";

/** The outcome of an item, as the page's filter groups it. */
export type Outcome = "delivered" | "failed" | "waiting" | "ended";

export const outcomeNames: Record<Outcome, string> = {
  delivered: "Delivered",
  failed: "Failed",
  waiting: "In progress",
  ended: "Not sent",
};

export const outcomes = Object.keys(outcomeNames) as Outcome[];

/** The outcome of an item: delivered if it was delivered itself, otherwise the outcome of its latest replay, if there is one. */
export function outcomeOf({ status, latest_replay: replay }: PublicationItem): Outcome {
  const own = outcomeOfStatus(status);
  return own === "delivered" || replay === null ? own : outcomeOfStatus(replay.status);
}

function outcomeOfStatus(status: Status): Outcome {
  if (status === "DELIVERED" || status === "ACKNOWLEDGED") return "delivered";
  if (status === "FAILED" || status === "DEAD") return "failed";
  return statusLooks[status].isEnd ? "ended" : "waiting";
}

export function countOutcomes(items: readonly PublicationItem[]): Record<Outcome, number> {
  const counts: Record<Outcome, number> = { delivered: 0, failed: 0, waiting: 0, ended: 0 };
  for (const item of items) counts[outcomeOf(item)] += 1;
  return counts;
}

const skippedNames: Record<PublicationReplay["skipped"][number]["reason"], string> = {
  target_deleted: "its target is deleted",
  mailbox_disabled: "its mailbox is disabled",
  expired: "its payload is past its retention",
  erased: "its payload was erased",
};

/** The result of a replay, in sentences. */
export function replayedText(to: ReplayedTo, { items, skipped }: PublicationReplay): string {
  if (items.length === 0 && skipped.length === 0)
    return to === "failed"
      ? "Nothing was sent: all failed items were replayed already."
      : "Nothing was sent: all matching targets have received it.";
  const sent = `Sent to ${counted(items.length, "target")}.`;
  if (skipped.length === 0) return sent;
  const reasons = [...new Set(skipped.map(({ reason }) => skippedNames[reason]))];
  return `${sent} ${counted(skipped.length, "item")} cannot be sent any more: ${reasons.join(", ")}.`;
}

/** `1 target`, `1,200 targets`. */
export function counted(count: number, what: string): string {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
}
