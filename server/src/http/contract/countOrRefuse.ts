import type { FastifyReply } from "fastify";
import type pg from "pg";
import { type CountedWindow, countInWindow } from "../../postgres/countInWindow.ts";
import { ApiError } from "./errors.ts";

export interface RequestLimit extends CountedWindow {
  /** The message of the 429. */
  refusal: string;
  /** Whether the answer's headers tell the window only when it is used up. */
  isSilent?: boolean;
}

/**
 * Counts a request in a window, by the database's clock, for all nodes and across restarts. Adds `RateLimit` and
 * `RateLimit-Policy` to the answer (draft-ietf-httpapi-ratelimit-headers-10). Both headers are lists: a second window of the
 * same request is appended. Refused requests are not counted, so that `Retry-After` stays true for a client that retries early.
 * @throws {ApiError} 429 when the window is used up; the request was not counted.
 */
export async function countOrRefuse(
  pool: pg.Pool,
  { refusal, isSilent = false, ...window }: RequestLimit,
  reply: FastifyReply,
): Promise<void> {
  const { scope, limit, windowSeconds } = window;
  const { isCounted, hits, resetSeconds } = await countInWindow(pool, window);
  if (!isCounted || !isSilent) {
    append(reply, "ratelimit-policy", `"${scope}";q=${limit};w=${windowSeconds}`);
    append(reply, "ratelimit", `"${scope}";r=${Math.max(0, limit - hits)};t=${resetSeconds}`);
  }
  if (!isCounted) throw new ApiError(429, refusal, { retryAfterSeconds: resetSeconds });
}

function append(reply: FastifyReply, name: string, value: string): void {
  const before = reply.getHeader(name);
  void reply.header(name, before === undefined ? value : `${String(before)}, ${value}`);
}
