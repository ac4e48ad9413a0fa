import { duration } from "../time/wording.ts";
import { retrySchedule } from "./retrySchedule.ts";

/** The attempts of an item that always fails, on an axis of time. The axis is logarithmic, as the waits are. */
export function RetryAxis({ maxRetries, intervalSeconds }: { maxRetries: number; intervalSeconds: number }) {
  const times = retrySchedule(maxRetries, intervalSeconds);
  const last = times.at(-1) ?? 0;
  const place = (at: number): number => (last === 0 ? 0 : (Math.log1p(at) / Math.log1p(last)) * 100);
  return (
    <div className="grid gap-2">
      <div className="relative mx-2 h-6" aria-hidden>
        <div className="absolute inset-x-0 top-1/2 h-px bg-control" />
        {times.map((at) => (
          <span
            key={at}
            title={`after ${duration(at)}`}
            className="absolute top-1/2 size-3 -translate-x-1/2 -translate-y-1/2 rounded-pill border-2 border-surface bg-accent"
            style={{ left: `${place(at)}%` }}
          />
        ))}
      </div>
      <p className="text-muted">
        {times.length === 1
          ? "One attempt, and no retry."
          : `${times.length} attempts: at once, ${times
              .slice(1, 5)
              .map((at) => `after ${duration(at)}`)
              .join(
                ", ",
              )}${times.length > 5 ? ` … and the last after ${duration(last)}` : ""}. Each wait is three times the one before, give or take a fifth.`}
      </p>
    </div>
  );
}
