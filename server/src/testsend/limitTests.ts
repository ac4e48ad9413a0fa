import type { FastifyReply } from "fastify";
import type pg from "pg";
import { sayRateLimit } from "../http/contract/rateLimitHeaders.ts";
import { countInWindow, type CountedWindow } from "../postgres/countInWindow.ts";

const windowSeconds = 60;
/** Tests a minute. Each holds a request and a connection for as long as the receiver takes. */
const perTarget = 10;
const perOrganization = 30;

/** In words, for the interface's document. */
export const testLimits = `${perTarget} tests a minute to one target, ${perOrganization} in all`;

export type CountedTest = { ok: true } | { ok: false; retryAfterSeconds: number };

/**
 * Counts one test against the limits of its target and its organization, by the database's clock and over all nodes, and
 * puts `RateLimit` and `RateLimit-Policy` on the answer (draft-ietf-httpapi-ratelimit-headers-10).
 */
export async function countTest(
  pool: pg.Pool,
  { orgId, targetId }: { orgId: string; targetId: string },
  reply: FastifyReply,
): Promise<CountedTest> {
  const ofTarget = await count(pool, { scope: "test", subject: targetId, limit: perTarget }, reply);
  if (!ofTarget.ok) return ofTarget;
  return count(pool, { scope: "tests", subject: orgId, limit: perOrganization }, reply);
}

async function count(
  pool: pg.Pool,
  { scope, subject, limit }: Omit<CountedWindow, "windowSeconds">,
  reply: FastifyReply,
): Promise<CountedTest> {
  const window = { scope, subject, limit, windowSeconds };
  const hit = await countInWindow(pool, window);
  if (hit.isCounted && reply.hasHeader("ratelimit")) return { ok: true };
  sayRateLimit(reply, window, hit);
  return hit.isCounted ? { ok: true } : { ok: false, retryAfterSeconds: Math.max(1, hit.resetSeconds) };
}
