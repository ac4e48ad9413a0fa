import { monotonicMs } from "../load.ts";

/*
 * The id of an event: the run, the event's number and the time of sending in microseconds of the machine's monotonic clock,
 * each of a fixed length, so that a request can be written by replacing digits. The programs in `native` use the same format.
 */
export const numberDigits = 8;
export const timeDigits = 14;

/** The beginning of the ids of all events of a run. */
export function runOf(run: string): string {
  return `${run}-`;
}

export function eventId(run: string, number: number, sentAtMs: number): string {
  const time = String(Math.round(sentAtMs * 1_000)).padStart(timeDigits, "0");
  return `${runOf(run)}${String(number).padStart(numberDigits, "0")}-${time}`;
}

/** Finds the id of an event of the run, anywhere in a body. */
export function createIdFinder(run: string) {
  const pattern = new RegExp(`${runOf(run)}(\\d{${numberDigits}})-(\\d{${timeDigits}})`);
  return (body: string): { number: number; sentAtMs: number } | undefined => {
    const [, number, sentAtUs] = pattern.exec(body) ?? [];
    return number === undefined ? undefined : { number: Number(number), sentAtMs: Number(sentAtUs) / 1_000 };
  };
}

/** A clock with the time of {@link monotonicMs} that costs no more than `performance.now()`. */
export function createClock(): () => number {
  const offsetMs = monotonicMs() - performance.now();
  return () => performance.now() + offsetMs;
}
