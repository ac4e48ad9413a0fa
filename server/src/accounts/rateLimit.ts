import type { FastifyReply, FastifyRequest } from "fastify";
import type pg from "pg";
import { ApiError } from "../http/contract/errors.ts";
import { clientSubject } from "./clientAddress.ts";

/** The length of a window in seconds. */
const rateLimitWindowSeconds = 900;

type Scope = "signup" | "login" | "invitation" | "password";

const doing: Record<Scope, string> = {
  signup: "signup",
  login: "login",
  invitation: "accept an invitation",
  password: "change a password",
};

/** What is counted, and how often a client address or a user may do it in a window. */
export interface RateLimit {
  scope: Scope;
  limit: number;
  /** A user, where it is not the client's address that is counted. */
  userId?: string;
}

/**
 * Counts one request of the client's address, or of a user, and puts `RateLimit` and `RateLimit-Policy` on the answer
 * (draft-ietf-httpapi-ratelimit-headers-10). A window begins with the first request counted and ends 15 minutes
 * later by the database's clock, for all nodes and across restarts. Refused requests are not counted, so that the time
 * in `Retry-After` stays true for a client that keeps asking.
 * @throws {ApiError} 429 when the window is used up.
 */
export async function countRequest(
  pool: pg.Pool,
  { scope, limit, userId }: RateLimit,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { isCounted, hits, resetSeconds } = await hit(
    pool,
    scope,
    userId ?? clientSubject(request.ip),
    limit,
  );
  void reply.header("ratelimit-policy", `"${scope}";q=${limit};w=${rateLimitWindowSeconds}`);
  void reply.header("ratelimit", `"${scope}";r=${Math.max(0, limit - hits)};t=${resetSeconds}`);
  if (isCounted) return;
  const whose = userId === undefined ? "from this address" : "by this user";
  throw new ApiError(429, `too many requests to ${doing[scope]} ${whose}: try again later`, {
    retryAfterSeconds: resetSeconds,
  });
}

/** Deletes the windows that have ended. @returns how many. */
export async function sweepRateLimits(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from rate_limits
     where window_start <= extract(epoch from now())::bigint - $1`,
    [rateLimitWindowSeconds],
  );
  return rowCount ?? 0;
}

interface Hit {
  isCounted: boolean;
  /** Requests counted in the window, this one included. */
  hits: number;
  /** Seconds until the window ends. */
  resetSeconds: number;
}

/**
 * One statement, and no write for a refused request: an address that hammers must not make commits, nor hold
 * connections that wait for one row. The row's lock makes concurrent requests take turns, so exactly `limit` pass.
 */
async function hit(pool: pg.Pool, scope: string, subject: string, limit: number): Promise<Hit> {
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
           ),
           counted as (
             insert into rate_limits as r (scope, subject, window_start, hits)
             select $1, $2, clock.seconds, 1
             from clock
             where not exists (select from present where present.hits >= $3)
             on conflict (scope, subject) do update
             set hits = case when r.window_start <= excluded.window_start - $4 then 1 else r.hits + 1 end,
               window_start = case
                 when r.window_start <= excluded.window_start - $4 then excluded.window_start
                 else r.window_start
               end
             where r.hits < $3
               or r.window_start <= excluded.window_start - $4
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
    values: [scope, subject, limit, rateLimitWindowSeconds],
  });
  const row = rows[0];
  // Nothing: concurrent requests opened the window and used it up after this statement began.
  if (row === undefined) return { isCounted: false, hits: limit, resetSeconds: rateLimitWindowSeconds };
  return { isCounted: row.is_counted, hits: row.hits, resetSeconds: row.reset_seconds };
}
