import type { FastifyReply } from "fastify";
import { ApiError } from "./errors.ts";

/** How many reads of one kind an organization may have in this process. */
export interface ReadLimit {
  /** Names the limit in `RateLimit`. */
  name: string;
  /** So many at a time. */
  underWay: number;
  /** So many wait for a turn; beyond, they are refused. */
  waiting: number;
  /** What a refused caller is told to wait, in seconds. */
  retryAfterSeconds: number;
}

interface Queue {
  underWay: number;
  waiting: (() => void)[];
}

/** Runs a read when it is its organization's turn. @throws {ApiError} 429 when too many wait. */
export type ReadTurns = <T>(orgId: string, reply: FastifyReply, read: () => Promise<T>) => Promise<T>;

/**
 * Lets an organization have a few reads under way that cost much, in the order in which they came: each holds one of the
 * process's connections to the database, and the others stay for other organizations.
 */
export function createReadTurns({ name, underWay, waiting, retryAfterSeconds }: ReadLimit): ReadTurns {
  const queues = new Map<string, Queue>();
  // Concurrent requests are a unit of draft-ietf-httpapi-ratelimit-headers-10.
  const sayLimit = (reply: FastifyReply, left: number): void => {
    void reply
      .header("ratelimit-policy", `"${name}";q=${underWay + waiting};qu="concurrent-requests"`)
      .header("ratelimit", `"${name}";r=${left};t=${retryAfterSeconds}`);
  };
  return async (orgId, reply, read) => {
    const queue = queues.get(orgId) ?? { underWay: 0, waiting: [] };
    queues.set(orgId, queue);
    const left = underWay + waiting - queue.underWay - queue.waiting.length;
    if (left <= 0) {
      sayLimit(reply, 0);
      throw new ApiError(
        429,
        `too many requests of this kind at once: ${underWay + waiting} may be under way`,
        {
          retryAfterSeconds,
        },
      );
    }
    if (queue.underWay < underWay) queue.underWay++;
    // Whoever ends hands its place on.
    else await new Promise<void>((resolve) => queue.waiting.push(resolve));
    try {
      const answer = await read();
      sayLimit(reply, Math.max(0, left - 1));
      return answer;
    } finally {
      const next = queue.waiting.shift();
      if (next !== undefined) next();
      else if (--queue.underWay === 0) queues.delete(orgId);
    }
  };
}
