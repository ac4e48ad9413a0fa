import type pg from "pg";

/** A rate limit: `limit` times in a window, for each subject of a scope. */
export interface CountedWindow {
  scope: string;
  subject: string;
  limit: number;
  windowSeconds: number;
  /**
   * A window that begins later than this from now was opened before the clock was set back, and counts as ended. One minute
   * by default.
   */
  maxAheadSeconds?: number;
}

/**
 * The scope that counts the days that maintenance drops (`dropOldPartitions.ts`). Its windows last for a day. A window of a
 * wrong clock also lasts until its end, so that a clock that jumps back and forth does not drop more days.
 */
export const dailyScope = {
  scope: "retention",
  windowSeconds: 86_400,
  maxAheadSeconds: 2 ** 40,
} as const;

export interface Hit {
  isCounted: boolean;
  /** Requests counted in the window, this one included. */
  hits: number;
  /** Seconds until the window ends. */
  resetSeconds: number;
}

/**
 * Counts one request in the current window of a subject, unless the window is used up; a window begins with the first
 * request. Uses the database's clock, so that all nodes share the window and restarts do not reset it.
 *
 * One statement, and no write for a refused request: an address that sends very many requests must not cause commits, nor
 * hold connections that wait for one row. The row's lock serializes concurrent requests, so exactly `limit` pass.
 */
export async function countInWindow(
  pool: pg.Pool,
  { scope, subject, limit, windowSeconds, maxAheadSeconds = 60 }: CountedWindow,
): Promise<Hit> {
  const { rows } = await pool.query<{ is_counted: boolean; hits: number; reset_seconds: number }>({
    name: "rate_limit_hit",
    text: `with clock as (
             select extract(epoch from now())::bigint as seconds
           ),
           present as (
             select r.hits, r.window_start
             from rate_limits r, clock
             where r.scope = $1
               and r.subject = $2
               and r.window_start > clock.seconds - $4
               and r.window_start <= clock.seconds + $5::bigint
           ),
           counted as (
             insert into rate_limits as r (scope, subject, window_start, hits)
             select $1, $2, clock.seconds, 1
             from clock
             where not exists (select from present where present.hits >= $3)
             on conflict (scope, subject) do update
             set hits = case
                 when r.window_start > excluded.window_start - $4
                   and r.window_start <= excluded.window_start + $5::bigint
                   then r.hits + 1
                 else 1
               end,
               window_start = case
                 when r.window_start > excluded.window_start - $4
                   and r.window_start <= excluded.window_start + $5::bigint
                   then r.window_start
                 else excluded.window_start
               end
             where r.hits < $3
               or r.window_start <= excluded.window_start - $4
               or r.window_start > excluded.window_start + $5::bigint
             returning r.hits, r.window_start
           ),
           answer as (
             select true as is_counted, hits, window_start
             from counted
             union all
             select false, $3, window_start
             from present
             where not exists (select from counted)
           )
           select a.is_counted, a.hits, a.window_start + $4 - clock.seconds as reset_seconds
           from answer a, clock`,
    values: [scope, subject, limit, windowSeconds, maxAheadSeconds],
  });
  const row = rows[0];
  // No row means that concurrent requests opened the window and used it up after this statement began.
  if (row === undefined) return { isCounted: false, hits: limit, resetSeconds: windowSeconds };
  return { isCounted: row.is_counted, hits: row.hits, resetSeconds: row.reset_seconds };
}
