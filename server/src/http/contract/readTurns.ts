import type { FastifyReply } from "fastify";
import { disconnectSignal } from "./client.ts";
import { ApiError } from "./errors.ts";
import type { RouteCall } from "./route.ts";
import { customerOf } from "./scope.ts";

/** A request that waits or is in progress. */
interface Turn {
  kind: ReadKind;
  /** The customer that the caller is limited to. */
  customer: string | undefined;
  begin: () => void;
}

/** The requests of an organization. */
interface Line {
  inFlight: Turn[];
  waiting: Turn[];
}

/**
 * Limits the concurrency of requests that may read many rows, because each holds one of the process's database connections. An
 * organization runs a few requests of each kind, and at most one long request. Long requests of all organizations together use a
 * quarter of the connections. A free place goes to the organization with the fewest requests in flight.
 */
export class ReadTurns {
  /** The most long requests that run at a time: each may keep one of the database's cores busy. */
  readonly #mostLong: number;
  #longInFlight = 0;
  /** By organization, in the order of their turns. */
  readonly #lines = new Map<string, Line>();

  /** @param connections the size of the connection pool for these requests. */
  constructor(connections: number) {
    this.#mostLong = Math.max(1, Math.floor(connections / 4));
  }

  /**
   * Runs `read` when the caller's turn comes.
   * @param read is called with a signal that aborts when the client has disconnected.
   * @throws {ApiError} 429 when too many requests of the organization wait, 503 when the turn does not come within 30 s.
   */
  async run<T>(
    kind: ReadKind,
    { caller, reply }: Pick<RouteCall, "caller" | "reply">,
    read: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const line = this.#lines.get(caller.orgId) ?? { inFlight: [], waiting: [] };
    const customer = customerOf(caller.scope);
    const { quota, left } = placesOf(line, kind, customer);
    if (left <= 0) throw refusal(reply, kind, quota);
    this.#lines.set(caller.orgId, line);
    const signal = disconnectSignal(reply);
    const turn = await this.#wait(line, { kind, customer }, signal);
    try {
      if (turn === undefined) {
        const { retryAfterSeconds } = readLimits[kind];
        throw new ApiError(503, "too many large reads are in progress: try again", { retryAfterSeconds });
      }
      const answer = await read(signal);
      sayLimit(reply, kind, { quota, left: left - 1 });
      return answer;
    } finally {
      this.#end(caller.orgId, line, turn);
    }
  }

  /** Resolves when the request may begin; to undefined when the client has disconnected or waited too long. */
  #wait(line: Line, { kind, customer }: Omit<Turn, "begin">, signal: AbortSignal): Promise<Turn | undefined> {
    return new Promise((resolve) => {
      const settle = (result: Turn | undefined): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
        resolve(result);
      };
      const turn: Turn = { kind, customer, begin: () => settle(turn) };
      const giveUp = (): void => {
        line.waiting.splice(line.waiting.indexOf(turn), 1);
        settle(undefined);
      };
      const timer = setTimeout(giveUp, maxWaitMs);
      signal.addEventListener("abort", giveUp);
      line.waiting.push(turn);
      if (signal.aborted) giveUp();
      else this.#begin();
    });
  }

  /** Begins all requests that may begin. */
  #begin(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const { orgId, line, turn } = next;
      line.waiting.splice(line.waiting.indexOf(turn), 1);
      line.inFlight.push(turn);
      if (readLimits[turn.kind].isLong) this.#longInFlight++;
      // The organization moves to the end of the order.
      this.#lines.delete(orgId);
      this.#lines.set(orgId, line);
      turn.begin();
    }
  }

  /** The next request of the organization with the fewest in progress. */
  #next(): { orgId: string; line: Line; turn: Turn } | undefined {
    let next: { orgId: string; line: Line; turn: Turn } | undefined;
    for (const [orgId, line] of this.#lines) {
      if (next !== undefined && next.line.inFlight.length <= line.inFlight.length) continue;
      const turn = line.waiting.find((one) => this.#mayBegin(line, one));
      if (turn !== undefined) next = { orgId, line, turn };
    }
    return next;
  }

  #mayBegin({ inFlight }: Line, { kind, customer }: Turn): boolean {
    const alike = inFlight.filter((one) => one.kind === kind);
    if (alike.length >= readLimits[kind].inFlight) return false;
    if (customer !== undefined && alike.some((one) => one.customer === customer)) return false;
    if (!readLimits[kind].isLong) return true;
    const hasLong = inFlight.some((one) => readLimits[one.kind].isLong);
    return !hasLong && this.#longInFlight < this.#mostLong;
  }

  /** Ends a request and begins the next ones. @param turn undefined for a request that did not begin. */
  #end(orgId: string, line: Line, turn: Turn | undefined): void {
    if (turn !== undefined) {
      line.inFlight.splice(line.inFlight.indexOf(turn), 1);
      if (readLimits[turn.kind].isLong) this.#longInFlight--;
      // Further requests of this customer now wait behind those of other customers and of the organization itself.
      const isOthers = (one: Turn): boolean => one.customer !== turn.customer;
      line.waiting = [...line.waiting.filter(isOthers), ...line.waiting.filter((one) => !isOthers(one))];
    }
    if (line.inFlight.length + line.waiting.length === 0) this.#lines.delete(orgId);
    this.#begin();
  }
}

/** The number of places that the caller may use, and how many of them are free. */
function placesOf(
  { inFlight, waiting }: Line,
  kind: ReadKind,
  customer: string | undefined,
): { quota: number; left: number } {
  const quota = readLimits[kind].inFlight + readLimits[kind].waiting;
  const alike = [...inFlight, ...waiting].filter((one) => one.kind === kind);
  const left = quota - alike.length;
  if (customer === undefined) return { quota, left };
  const own = Math.ceil(quota * customersPart);
  const ownLeft = own - alike.filter((one) => one.customer === customer).length;
  return { quota: own, left: Math.min(left, ownLeft) };
}

function refusal(reply: FastifyReply, kind: ReadKind, quota: number): ApiError {
  sayLimit(reply, kind, { quota, left: 0 });
  return new ApiError(429, `too many concurrent requests of this kind: at most ${quota} are allowed`, {
    retryAfterSeconds: readLimits[kind].retryAfterSeconds,
    code: "too_many_at_once",
  });
}

/** Adds the rate limit headers, with the unit `concurrent-requests` of draft-ietf-httpapi-ratelimit-headers-10. */
function sayLimit(
  reply: FastifyReply,
  kind: ReadKind,
  { quota, left }: { quota: number; left: number },
): void {
  void reply
    .header("ratelimit-policy", `"${kind}";q=${quota};qu="concurrent-requests"`)
    .header("ratelimit", `"${kind}";r=${left};t=${readLimits[kind].retryAfterSeconds}`);
}

/** The limits of an organization's requests of one kind, in this process. */
interface ReadLimit {
  /** The most requests that run at a time. */
  inFlight: number;
  /** The most requests that wait for a turn; further requests are refused. */
  waiting: number;
  /** `Retry-After` of a refused caller, in seconds. */
  retryAfterSeconds: number;
  /** Whether such a request may hold a database connection for seconds. */
  isLong: boolean;
}

/**
 * Concurrency limits of requests that may read many rows, by kind. A request that one index answers in order, such as the newest
 * events of a target, needs no turn. The names appear in the header `RateLimit`.
 */
export const readLimits = {
  /** Counts of replays, in a dry run and at a start: up to two seconds. */
  "replay-counts": { inFlight: 1, waiting: 20, retryAfterSeconds: 2, isLong: true },
  /** Lists that combine filters or have a large offset. */
  searches: { inFlight: 1, waiting: 40, retryAfterSeconds: 2, isLong: true },
  /** Replays of publications, of up to a thousand items. */
  "publication-replays": { inFlight: 1, waiting: 20, retryAfterSeconds: 2, isLong: true },
  /** Imports of event types, of up to a thousand types. */
  imports: { inFlight: 1, waiting: 5, retryAfterSeconds: 2, isLong: true },
  /** Lists that are merged from many targets, or sorted. */
  lists: { inFlight: 3, waiting: 250, retryAfterSeconds: 1, isLong: false },
  /** Statistics. A page requests them for several targets, up to six at a time, as browsers do. */
  stats: { inFlight: 3, waiting: 60, retryAfterSeconds: 1, isLong: false },
} as const satisfies Record<string, ReadLimit>;

export type ReadKind = keyof typeof readLimits;

/** How long a request waits for its turn before it is answered with 503. */
export const maxWaitMs = 30_000;

/** The share of an organization's places for each of its customers. A customer runs one request of each kind at a time. */
const customersPart = 0.25;
