import type pg from "pg";
import type { Log } from "../telemetry/log.ts";

/** From here on a process says that its clock and the database's disagree, and deletes nothing. */
const saidFromMs = 60_000;
/** From here on it takes no items: their ids would carry a moment that retention and expiry read as another day's. */
const refusedFromMs = 3_600_000;
/** How often it is said again. */
const saidEveryMs = 600_000;

/** One moment on both clocks. */
export interface Moment {
  /** The earlier of the two, in Unix milliseconds: what is past some time by it is past it by both. */
  earlierMs: number;
  /** Whether the clocks disagree by so much that nothing may be deleted. */
  isApart: boolean;
}

/** Items are not made while the clocks of this process and its database are too far apart. */
export class ClockApartError extends Error {}

/** This process's clock beside its database's. */
export type ClockCheck = ReturnType<typeof createClockCheck>;

/** An item costs no statement: `look` is called every few seconds, and `refuseApart` compares two numbers. */
export function createClockCheck(deps: { pool: pg.Pool; nowMs: () => number; log: Log }) {
  const { pool, nowMs, log } = deps;
  let skewMs = 0;
  let saidAtMs: number | undefined;

  function say(): void {
    const text = warning();
    if (text === undefined) {
      if (saidAtMs !== undefined) log.info({}, "the clocks of this process and of its database agree again");
      saidAtMs = undefined;
      return;
    }
    const atMs = performance.now();
    if (saidAtMs !== undefined && atMs - saidAtMs < saidEveryMs) return;
    saidAtMs = atMs;
    log.error({ skew_seconds: Math.round(skewMs / 1000) }, text);
  }

  /** Whether items may be made: not while the clocks are an hour apart. */
  function mayMakeItems(): boolean {
    return Math.abs(skewMs) <= refusedFromMs;
  }

  /** A sentence for the operator once the clocks are a minute apart; undefined while they agree. */
  function warning(): string | undefined {
    if (Math.abs(skewMs) <= saidFromMs) return undefined;
    const meanwhile = mayMakeItems()
      ? "until then it deletes nothing that is past its time"
      : "until then it takes no items and deletes nothing";
    return `the clock of this process is ${durationText(Math.abs(skewMs))} ${skewMs > 0 ? "ahead of" : "behind"} its database's: set both right; ${meanwhile}`;
  }

  return {
    /** Compares them now, by one statement. */
    async look(): Promise<Moment> {
      const beforeMs = nowMs();
      const databaseMs = await readDatabaseMs(pool);
      const afterMs = nowMs();
      // The database was asked at some moment between the two.
      skewMs = Math.max(0, beforeMs - databaseMs) + Math.min(0, afterMs - databaseMs);
      say();
      return { earlierMs: Math.min(databaseMs, beforeMs), isApart: Math.abs(skewMs) > saidFromMs };
    },
    /** By how many milliseconds this process's clock was ahead when it was last looked at; negative when it was behind. */
    skewMs: () => skewMs,
    warning,
    mayMakeItems,
    /** @throws {ClockApartError} while items may not be made. */
    refuseApart(): void {
      if (!mayMakeItems()) throw new ClockApartError(warning());
    },
  };
}

/** The database's clock, in Unix milliseconds. */
export async function readDatabaseMs(database: pg.Pool | pg.ClientBase): Promise<number> {
  const { rows } = await database.query<{ ms: number | string }>(
    "select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms",
  );
  // Only the pool's clients read bigint as a number.
  return Number(rows[0]!.ms);
}

const units = [
  { name: "days", ms: 86_400_000 },
  { name: "hours", ms: 3_600_000 },
  { name: "minutes", ms: 60_000 },
] as const;

/** Uses the largest unit of which the duration has at least two. */
function durationText(ms: number): string {
  const unit = units.find((one) => ms >= 2 * one.ms);
  return unit === undefined ? `${Math.round(ms / 1000)} seconds` : `${Math.round(ms / unit.ms)} ${unit.name}`;
}
