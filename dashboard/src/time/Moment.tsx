import { useTimeZone } from "./timeZone.ts";
import { useNow } from "./useNow.ts";
import { distance, duration, fullTime, shortTime } from "./wording.ts";

/** A point in time in the chosen time zone; `at` is in Unix seconds. */
export function Moment({ at }: { at: number }) {
  return <Time at={at} words={shortTime(at, useTimeZone())} />;
}

/** A relative time such as `3 min ago`, updated every second. */
export function Ago({ at }: { at: number }) {
  return <Time at={at} words={distance(at, useNow())} />;
}

function Time({ at, words }: { at: number; words: string }) {
  const zone = useTimeZone();
  return (
    <time
      dateTime={new Date(at * 1000).toISOString()}
      title={fullTime(at, zone)}
      className="figures whitespace-nowrap"
    >
      {words}
    </time>
  );
}

/** The time left, or `ended` when no time is left. */
export function Countdown({ until, ended }: { until: number; ended: string }) {
  const left = until - useNow() / 1000;
  return <Time at={until} words={left > 0 ? duration(left) : ended} />;
}
