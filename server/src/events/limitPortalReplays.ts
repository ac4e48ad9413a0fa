import type { FastifyReply } from "fastify";
import type pg from "pg";
import type { Caller } from "../http/contract/credentials.ts";
import { ApiError } from "../http/contract/errors.ts";
import { sayRateLimit } from "../http/contract/rateLimitHeaders.ts";
import { countInWindow } from "../postgres/countInWindow.ts";

const windowSeconds = 60;
/** A page of failures, twice. */
const perCustomer = 100;

/**
 * Counts a replay that a customer asks for in its portal, by the database's clock and over all nodes: they are billed to nobody,
 * and the organization's dispatchers send them. Other callers are the organization itself.
 * @throws {ApiError} 429 when the customer's minute is used up.
 */
export async function limitPortalReplays(pool: pg.Pool, caller: Caller, reply: FastifyReply): Promise<void> {
  if (caller.kind !== "portal") return;
  const window = { scope: "replays", subject: caller.customerId, limit: perCustomer, windowSeconds };
  const hit = await countInWindow(pool, window);
  sayRateLimit(reply, window, hit);
  if (hit.isCounted) return;
  throw new ApiError(429, `too many replays: a customer has ${perCustomer} a minute`, {
    retryAfterSeconds: Math.max(1, hit.resetSeconds),
  });
}
