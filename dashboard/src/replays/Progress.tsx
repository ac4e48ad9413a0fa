import type { ReplayJob } from "../api/shapes.ts";
import { progressText } from "./replayWords.ts";

/** The progress of a replay job, indeterminate until the matching items have been counted. */
export function Progress({ job }: { job: ReplayJob }) {
  const known = job.total === null ? {} : { value: job.replayed + job.skipped, max: Math.max(1, job.total) };
  // A job without matching items is complete.
  const { value } = job.total === 0 ? { value: 1 } : known;
  return (
    <progress
      className="replay-progress h-2 w-full"
      {...known}
      {...(value !== undefined && { value })}
      aria-label={progressText(job)}
    />
  );
}
