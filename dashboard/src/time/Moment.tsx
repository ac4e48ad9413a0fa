import { useTimeZone } from "./timeZone.ts";
import { useNow } from "./useNow.ts";
import { distance, duration, fullTime, shortTime } from "./wording.ts";

/** A point in time, in Unix seconds, as the chosen time zone has it. */
export function Moment({ at }: { at: number }) {
  return <Time at={at} words={shortTime(at, useTimeZone())} />;
}

/** `3 min ago`, kept true while it is shown. */
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

/** The time left; `ended` when there is none. */
export function Countdown({ until, ended }: { until: number; ended: string }) {
  const left = until - useNow() / 1000;
  return <span className="figures whitespace-nowrap">{left > 0 ? duration(left) : ended}</span>;
}
