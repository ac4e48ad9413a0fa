import type { Attempt, ItemEvent } from "../api/shapes.ts";
import { kindNamed } from "../targets/kinds/kinds.ts";
import { duration } from "../time/wording.ts";

/** The next step of an item, or how it ended, as a sentence. */
export function nextStep(event: ItemEvent, attempts: readonly Attempt[], nowMs: number): string {
  const last = attempts.at(-1);
  const total = event.max_retries + 1;
  switch (event.status) {
    case "QUEUED":
      return event.held
        ? "It is held because its target is disabled. Enable the target to send it."
        : `Attempt 1 of ${total} is due now.`;
    case "RETRYING":
      return retrying(event, attempts, nowMs);
    case "DELIVERED":
      return `${kindNamed(event.target_kind).words.delivered} ${tries(attempts.length)}${endedWith(last)}.`;
    case "FAILED":
      return `Failed permanently ${tries(attempts.length)}${endedWith(last)}. Replay sends it again as a new item.`;
    case "FILTERED":
      return "Not sent: the target does not take this event type.";
    case "CANCELED":
      return "Canceled before it was delivered: by a user, by the deletion of its target, after its retention, or by an erasure.";
    case "UNREAD":
      return "It waits in the mailbox for a consumer to claim it.";
    case "CLAIMED":
      return "A consumer has claimed it under a lease; it becomes claimable again if the lease ends without an acknowledgement.";
    case "ACKNOWLEDGED":
      return "A consumer acknowledged it.";
    case "EXPIRED":
      return "It stayed in the mailbox past its retention.";
    case "DEAD":
      return "It was claimed too often, or rejected. Redrive it in its mailbox.";
  }
}

function retrying(event: ItemEvent, attempts: readonly Attempt[], nowMs: number): string {
  const next = `Attempt ${attempts.length + 1} of ${event.max_retries + 1}`;
  const reason = after(attempts.at(-1));
  if (event.held) return `${next} is held: its target is disabled. Enabling the target sends it.`;
  if (event.next_attempt_at === null) return `${next} is in progress, ${reason}.`;
  const seconds = event.next_attempt_at - nowMs / 1000;
  return seconds <= 0 ? `${next} is due now, ${reason}.` : `${next} in ${duration(seconds)}, ${reason}.`;
}

function tries(count: number): string {
  return count === 1 ? "at the first attempt" : `after ${count} attempts`;
}

/** The result of the last attempt. */
function endedWith(attempt: Attempt | undefined): string {
  if (attempt === undefined) return "";
  return attempt.status_code === 0 ? `: ${attempt.error ?? "no answer"}` : `, with ${attempt.status_code}`;
}

function after(attempt: Attempt | undefined): string {
  if (attempt === undefined) return "before any attempt";
  return attempt.status_code === 0 ? `after ${attempt.error ?? "no answer"}` : `after ${attempt.status_code}`;
}
