import type { FastifyReply } from "fastify";
import type { CountedWindow, Hit } from "../../postgres/countInWindow.ts";

/**
 * Puts `RateLimit` and `RateLimit-Policy` of a window on the answer (draft-ietf-httpapi-ratelimit-headers-10), behind those of
 * another window that the request was counted in before: both headers are lists.
 */
export function sayRateLimit(
  reply: FastifyReply,
  { scope, limit, windowSeconds }: Omit<CountedWindow, "subject">,
  { hits, resetSeconds }: Hit,
): void {
  append(reply, "ratelimit-policy", `"${scope}";q=${limit};w=${windowSeconds}`);
  append(reply, "ratelimit", `"${scope}";r=${Math.max(0, limit - hits)};t=${resetSeconds}`);
}

function append(reply: FastifyReply, name: string, value: string): void {
  const before = reply.getHeader(name);
  void reply.header(name, before === undefined ? value : `${String(before)}, ${value}`);
}
