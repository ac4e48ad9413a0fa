import { targetName } from "../api/queries.ts";
import type { ReplayJob, Target } from "../api/shapes.ts";
import type { TimeZone } from "../time/timeZone.ts";
import { shortTime } from "../time/wording.ts";

export const stateNames: Record<ReplayJob["status"], string> = {
  RUNNING: "Running",
  DONE: "Done",
  CANCELED: "Canceled",
};

/** The filter of a replay job as text, as the list of items writes it. */
export function filterText(
  filter: ReplayJob["filter"],
  targets: readonly Target[] | undefined,
  zone: TimeZone,
): string {
  const { target_id: target, created_after: from, created_before: to } = filter;
  const parts = [
    filter.status !== undefined && `status: ${filter.status}`,
    target !== undefined && `target: ${targetName(targets, target)}`,
    filter.event_type !== undefined && `type: ${filter.event_type}`,
    filter.correlation_id !== undefined && `correlation: ${filter.correlation_id}`,
    from !== undefined && `from ${shortTime(from, zone)}`,
    to !== undefined && `until ${shortTime(to, zone)}`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? "every item" : parts.join(", ");
}

/** `1,200 of 5,000`; while the total is being counted, `1,200 so far, still counting`. */
export function progressText({ replayed, skipped, total }: ReplayJob): string {
  const done = (replayed + skipped).toLocaleString("en");
  return total === null ? `${done} so far, still counting` : `${done} of ${total.toLocaleString("en")}`;
}

/** Average number of new items per second, from the job's start to its end or until now. */
export function averageRate(job: ReplayJob, nowMs: number): string {
  const seconds = Math.max(1, (job.finished_at ?? nowMs / 1000) - job.created_at);
  return (job.replayed / seconds).toLocaleString("en", { maximumFractionDigits: 1 });
}

const skippedNames: Record<keyof ReplayJob["skipped_reasons"], string> = {
  still_waiting: "had not ended",
  target_deleted: "their target is deleted",
  mailbox_disabled: "their mailbox is disabled",
  expired: "their payload is gone",
};

/** Number of skipped items with the reasons, such as `3 (2 their payload is gone, 1 had not ended)`. */
export function skippedText({ skipped, skipped_reasons: reasons }: ReplayJob): string {
  const parts = Object.entries(skippedNames)
    .map(([reason, name]) => [reasons[reason as keyof typeof reasons], name] as const)
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count.toLocaleString("en")} ${name}`);
  return parts.length === 0
    ? skipped.toLocaleString("en")
    : `${skipped.toLocaleString("en")} (${parts.join(", ")})`;
}
