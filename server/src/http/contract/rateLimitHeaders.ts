import type { FastifyReply } from "fastify";
import type { CountedWindow, Hit } from "../../postgres/countInWindow.ts";

/** Puts `RateLimit` and `RateLimit-Policy` of a window on the answer (draft-ietf-httpapi-ratelimit-headers-10). */
export function sayRateLimit(
  reply: FastifyReply,
  { scope, limit, windowSeconds }: Omit<CountedWindow, "subject">,
  { hits, resetSeconds }: Hit,
): void {
  void reply.header("ratelimit-policy", `"${scope}";q=${limit};w=${windowSeconds}`);
  void reply.header("ratelimit", `"${scope}";r=${Math.max(0, limit - hits)};t=${resetSeconds}`);
}
