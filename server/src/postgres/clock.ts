import type pg from "pg";
import type { Log } from "../telemetry/log.ts";

/** Difference between the clocks of the process and the database from which the process warns, and deletes nothing. */
const saidFromMs = 60_000;
/** Difference from which the process accepts no items: the time in their ids would be on another day for retention and expiry. */
const refusedFromMs = 3_600_000;
/** Interval at which the warning is logged again. */
const saidEveryMs = 600_000;

/** One moment on both clocks. */
export interface Moment {
  /** The earlier of the two times, in Unix milliseconds: a limit that has passed by this time has passed on both clocks. */
  earlierMs: number;
  /** Whether the clocks differ so much that nothing may be deleted. */
  isApart: boolean;
}

/** The clocks of this process and its database are too far apart to create items. */
export class ClockApartError extends Error {}

/** A check of this process's clock against its database's. */
export type ClockCheck = ReturnType<typeof createClockCheck>;

/**
 * Compares the clocks every few seconds (`look`), so that accepting an item costs no statement: `refuseApart` compares two
 * numbers.
 */
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

  /** Whether items may be created: not while the clocks are an hour apart. */
  function mayMakeItems(): boolean {
    return Math.abs(skewMs) <= refusedFromMs;
  }

  /** A sentence for the operator once the clocks are a minute apart; undefined while they agree. */
  function warning(): string | undefined {
    if (Math.abs(skewMs) <= saidFromMs) return undefined;
    const meanwhile = mayMakeItems()
      ? "until then it deletes nothing that has expired"
      : "until then it accepts no items and deletes nothing";
    return `the clock of this process is ${durationText(Math.abs(skewMs))} ${skewMs > 0 ? "ahead of" : "behind"} its database's: set both right; ${meanwhile}`;
  }

  return {
    /** Compares the clocks now, with one statement. */
    async look(): Promise<Moment> {
      const beforeMs = nowMs();
      const databaseMs = await readDatabaseMs(pool);
      const afterMs = nowMs();
      // The database read its clock at some moment between the two readings of this process.
      skewMs = Math.max(0, beforeMs - databaseMs) + Math.min(0, afterMs - databaseMs);
      say();
      return { earlierMs: Math.min(databaseMs, beforeMs), isApart: Math.abs(skewMs) > saidFromMs };
    },
    /** Milliseconds by which this process's clock was ahead at the last comparison; negative when it was behind. */
    skewMs: () => skewMs,
    warning,
    mayMakeItems,
    /** @throws {ClockApartError} while items may not be created. */
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
  // Only clients of the pool parse bigint as a number; other clients return a string.
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
