import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type pg from "pg";
import { ApiError } from "../http/contract/errors.ts";
import { sayRateLimit } from "../http/contract/rateLimitHeaders.ts";
import { countInWindow, dailyScope } from "../postgres/countInWindow.ts";
import { clientSubject } from "./clientAddress.ts";

/** The length of a window in seconds; no other window in the table is longer, but for those of `dailyScope`. */
const rateLimitWindowSeconds = 900;

type Scope =
  | "signup"
  | "login"
  | "invitation"
  | "password"
  | "password-reset"
  | "password-reset-email"
  | "password-reset-confirm";

const doing: Record<Scope, string> = {
  signup: "signup",
  login: "login",
  invitation: "accept an invitation",
  password: "change a password",
  "password-reset": "reset a password",
  "password-reset-email": "reset a password",
  "password-reset-confirm": "reset a password",
};

/** A limit on requests of one kind in a window, for each client address, each user or each email. */
export interface RateLimit {
  scope: Scope;
  limit: number;
  /** A user, where it is not the client's address that is counted. */
  userId?: string;
  /** An email as compared, where that is counted, whether it has an account or not. */
  emailKey?: string;
}

/**
 * Counts one request of the client's address, of a user, or for an email, and puts `RateLimit` and `RateLimit-Policy` on the answer
 * (draft-ietf-httpapi-ratelimit-headers-10). A window begins with the first request counted and ends 15 minutes
 * later by the database's clock, for all nodes and across restarts. Refused requests are not counted, so that the time
 * in `Retry-After` stays true for a client that keeps asking.
 * @throws {ApiError} 429 when the window is used up.
 */
export async function countRequest(
  pool: pg.Pool,
  { scope, limit, userId, emailKey }: RateLimit,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const subject = userId ?? (emailKey === undefined ? clientSubject(request.ip) : digestOf(emailKey));
  const window = { scope, subject, limit, windowSeconds: rateLimitWindowSeconds };
  const hit = await countInWindow(pool, window);
  sayRateLimit(reply, window, hit);
  if (hit.isCounted) return;
  const whose =
    userId !== undefined ? "by this user" : emailKey !== undefined ? "for this email" : "from this address";
  throw new ApiError(429, `too many requests to ${doing[scope]} ${whose}: try again later`, {
    retryAfterSeconds: hit.resetSeconds,
  });
}

/** The form in which an email is counted: what is typed as one may be a password, and is not stored. */
function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Deletes the windows that have ended. @returns how many. */
export async function sweepRateLimits(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from rate_limits
     where window_start <= extract(epoch from now())::bigint - case when scope = $2 then $3::bigint else $1::bigint end`,
    [rateLimitWindowSeconds, dailyScope.scope, dailyScope.windowSeconds],
  );
  return rowCount ?? 0;
}
