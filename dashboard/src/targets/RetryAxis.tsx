import { Fragment } from "react";
import { duration } from "../time/wording.ts";

/**
 * The attempts of an item that always fails, on a time axis. The axis is logarithmic, because each wait is a multiple of the
 * one before.
 */
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
        <Schedule times={times} />
      </p>
    </div>
  );
}

const mostNamed = 4;

function Schedule({ times }: { times: readonly number[] }) {
  const [, first, ...others] = times;
  if (first === undefined) return "One attempt, and no retry.";
  if (others.length === 0)
    return (
      <>
        2 attempts: at once, and <After seconds={first} />, ±20 %.
      </>
    );
  return (
    <>
      {times.length} attempts: at once
      {times.slice(1, 1 + mostNamed).map((at) => (
        <Fragment key={at}>
          , <After seconds={at} />
        </Fragment>
      ))}
      {times.length > 1 + mostNamed && (
        <>
          {" "}
          … and the last <After seconds={times.at(-1)!} />
        </>
      )}
      . Each wait is three times the one before, ±20 %.
    </>
  );
}

function After({ seconds }: { seconds: number }) {
  return <span className="whitespace-nowrap">after {duration(seconds)}</span>;
}

/** When each attempt is due, in seconds after the first, if all fail: the wait triples each time, up to a day. */
function retrySchedule(maxRetries: number, intervalSeconds: number): number[] {
  const times = [0];
  let at = 0;
  for (let retry = 0; retry < maxRetries; retry += 1) {
    at += Math.min(longestWaitSeconds, intervalSeconds * factor ** retry);
    times.push(at);
  }
  return times;
}

const factor = 3;
const longestWaitSeconds = 86_400;
