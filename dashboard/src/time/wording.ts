import { serviceNowMs } from "./serviceClock.ts";
import type { TimeZone } from "./timeZone.ts";

/** `12:04:11` today, `21 Nov 12:04:11` on other days of this year, `21 Nov 2025 12:04:11` in others. */
export function shortTime(atSeconds: number, zone: TimeZone, nowMs: number = serviceNowMs()): string {
  const at = new Date(atSeconds * 1000);
  const isThisYear = year(at, zone) === year(new Date(nowMs), zone);
  if (!isThisYear) return `${day(at, zone)} ${year(at, zone)} ${clock(at, zone)}`;
  const isToday = day(at, zone) === day(new Date(nowMs), zone);
  return isToday ? clock(at, zone) : `${day(at, zone)} ${clock(at, zone)}`;
}

/** The full date and time, for a tooltip. */
export function fullTime(atSeconds: number, zone: TimeZone): string {
  return `${formats(zone).full.format(atSeconds * 1000)} ${zone === "UTC" ? "UTC" : localZone}`;
}

function clock(at: Date, zone: TimeZone): string {
  return formats(zone).clock.format(at);
}

function day(at: Date, zone: TimeZone): string {
  return formats(zone).day.format(at);
}

function year(at: Date, zone: TimeZone): number {
  return zone === "UTC" ? at.getUTCFullYear() : at.getFullYear();
}

const localZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

interface Formats {
  clock: Intl.DateTimeFormat;
  day: Intl.DateTimeFormat;
  full: Intl.DateTimeFormat;
}

const made = new Map<TimeZone, Formats>();

/**
 * Creates the formatters of a time zone once: `toLocaleTimeString` creates one at each call, which was most of the cost of
 * scrolling a list.
 */
function formats(zone: TimeZone): Formats {
  const present = made.get(zone);
  if (present !== undefined) return present;
  const make = (options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
    new Intl.DateTimeFormat("en-GB", zone === "UTC" ? { ...options, timeZone: "UTC" } : options);
  const next = {
    clock: make({ timeStyle: "medium" }),
    day: make({ day: "numeric", month: "short" }),
    full: make({ dateStyle: "full", timeStyle: "medium" }),
  };
  made.set(zone, next);
  return next;
}

/** The label of a tick on a time axis: `12:05`, or the day if steps are days or the tick is at midnight. */
export function tickName(atSeconds: number, stepSeconds: number, zone: TimeZone): string {
  const at = new Date(atSeconds * 1000);
  const time = clock(at, zone).slice(0, 5);
  return stepSeconds >= 86_400 || time === "00:00" ? day(at, zone) : time;
}

/** `4 min 12 s`, `2 h 5 min`, `3 d 4 h`: the two largest units. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return join(Math.floor(whole / 60), "min", whole % 60, "s");
  if (whole < 86_400) return join(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
  return join(Math.floor(whole / 86_400), "d", Math.floor((whole % 86_400) / 3600), "h");
}

function join(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** `3 min ago` or `in 3 min`. */
export function distance(atSeconds: number, nowMs: number): string {
  const seconds = Math.round(atSeconds - nowMs / 1000);
  if (Math.abs(seconds) < 2) return "now";
  const text = duration(Math.abs(seconds)).split(" ").slice(0, 2).join(" ");
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

/** `820 ms`, `1.24 s`. */
export function milliseconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}
