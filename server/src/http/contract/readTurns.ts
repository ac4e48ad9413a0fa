import type { FastifyReply } from "fastify";
import { disconnectSignal } from "./client.ts";
import { ApiError } from "./errors.ts";
import type { RouteCall } from "./route.ts";
import { customerOf } from "./scope.ts";

/** A request that waits, or is under way. */
interface Turn {
  kind: ReadKind;
  /** The customer that the caller is limited to. */
  customer: string | undefined;
  begin: () => void;
}

/** The requests of an organization. */
interface Line {
  underWay: Turn[];
  waiting: Turn[];
}

/**
 * Lets requests that may read much take turns, because each holds one of the process's connections to the database: an
 * organization has a few of each kind under way, of which one is long, and long ones of all organizations have a part of the connections. A free
 * place goes to the organization that has the fewest requests under way.
 */
export class ReadTurns {
  readonly #mostLong: number;
  #longUnderWay = 0;
  /** By organization, in the order in which they are next. */
  readonly #lines = new Map<string, Line>();

  /** @param connections The size of the pool that is read with. */
  constructor(connections: number) {
    this.#mostLong = mostLong(connections);
  }

  /**
   * Runs `read` when it is the caller's turn.
   * @param read Its signal aborts when the client is gone.
   * @throws {ApiError} 429 when too many of the organization wait, 503 when the turn does not come within half a minute.
   */
  async run<T>(
    kind: ReadKind,
    { caller, reply }: Pick<RouteCall, "caller" | "reply">,
    read: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const line = this.#lines.get(caller.orgId) ?? { underWay: [], waiting: [] };
    const customer = customerOf(caller.scope);
    const { quota, left } = placesOf(line, kind, customer);
    if (left <= 0) throw refusal(reply, kind, quota);
    this.#lines.set(caller.orgId, line);
    const signal = disconnectSignal(reply);
    const turn = await this.#wait(line, { kind, customer }, signal);
    try {
      if (turn === undefined) throw notReached(kind);
      const answer = await read(signal);
      sayLimit(reply, kind, { quota, left: left - 1 });
      return answer;
    } finally {
      this.#end(caller.orgId, line, turn);
    }
  }

  /** Resolves when the request may begin; to undefined when the client is gone or has waited for too long. */
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

  /** Begins whatever may begin. */
  #begin(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const { orgId, line, turn } = next;
      line.waiting.splice(line.waiting.indexOf(turn), 1);
      line.underWay.push(turn);
      if (readLimits[turn.kind].isLong) this.#longUnderWay++;
      // The last of the next round.
      this.#lines.delete(orgId);
      this.#lines.set(orgId, line);
      turn.begin();
    }
  }

  /** The next request of the organization with the fewest under way. */
  #next(): { orgId: string; line: Line; turn: Turn } | undefined {
    let next: { orgId: string; line: Line; turn: Turn } | undefined;
    for (const [orgId, line] of this.#lines) {
      if (next !== undefined && next.line.underWay.length <= line.underWay.length) continue;
      const turn = line.waiting.find((one) => this.#mayBegin(line, one));
      if (turn !== undefined) next = { orgId, line, turn };
    }
    return next;
  }

  #mayBegin({ underWay }: Line, { kind, customer }: Turn): boolean {
    const alike = underWay.filter((one) => one.kind === kind);
    if (alike.length >= readLimits[kind].underWay) return false;
    if (customer !== undefined && alike.some((one) => one.customer === customer)) return false;
    if (!readLimits[kind].isLong) return true;
    const hasLong = underWay.some((one) => readLimits[one.kind].isLong);
    return !hasLong && this.#longUnderWay < this.#mostLong;
  }

  /** @param turn Undefined for a request that did not begin. */
  #end(orgId: string, line: Line, turn: Turn | undefined): void {
    if (turn !== undefined) {
      line.underWay.splice(line.underWay.indexOf(turn), 1);
      if (readLimits[turn.kind].isLong) this.#longUnderWay--;
      // Its customer's next requests wait behind those of other customers and of the organization itself.
      const isOthers = (one: Turn): boolean => one.customer !== turn.customer;
      line.waiting = [...line.waiting.filter(isOthers), ...line.waiting.filter((one) => !isOthers(one))];
    }
    if (line.underWay.length + line.waiting.length === 0) this.#lines.delete(orgId);
    this.#begin();
  }
}

/** How many places the caller may have, and how many of them are free. */
function placesOf(
  { underWay, waiting }: Line,
  kind: ReadKind,
  customer: string | undefined,
): { quota: number; left: number } {
  const quota = readLimits[kind].underWay + readLimits[kind].waiting;
  const alike = [...underWay, ...waiting].filter((one) => one.kind === kind);
  const left = quota - alike.length;
  if (customer === undefined) return { quota, left };
  const own = Math.ceil(quota * customersPart);
  const ownLeft = own - alike.filter((one) => one.customer === customer).length;
  return { quota: own, left: Math.min(left, ownLeft) };
}

function refusal(reply: FastifyReply, kind: ReadKind, quota: number): ApiError {
  sayLimit(reply, kind, { quota, left: 0 });
  return new ApiError(429, `too many requests of this kind at once: ${quota} may be under way`, {
    retryAfterSeconds: readLimits[kind].retryAfterSeconds,
    code: "too_many_at_once",
  });
}

function notReached(kind: ReadKind): ApiError {
  return new ApiError(503, "too many requests that read much are under way: try again", {
    retryAfterSeconds: readLimits[kind].retryAfterSeconds,
  });
}

/** Concurrent requests are a unit of draft-ietf-httpapi-ratelimit-headers-10. */
function sayLimit(
  reply: FastifyReply,
  kind: ReadKind,
  { quota, left }: { quota: number; left: number },
): void {
  void reply
    .header("ratelimit-policy", `"${kind}";q=${quota};qu="concurrent-requests"`)
    .header("ratelimit", `"${kind}";r=${left};t=${readLimits[kind].retryAfterSeconds}`);
}

/** How many requests of one kind an organization may have in this process. */
interface ReadLimit {
  /** How many run at a time. */
  underWay: number;
  /** How many may wait for a turn; further requests are refused. */
  waiting: number;
  /** `Retry-After` of a refused caller, in seconds. */
  retryAfterSeconds: number;
  /** Whether such a request may hold a database connection for seconds; see {@link mostLong}. */
  isLong: boolean;
}

/**
 * Concurrency limits of requests that may read many rows, by kind. A request that one index answers in order, such as the newest
 * events of a target, needs no turn. The names appear in the header `RateLimit`.
 */
export const readLimits = {
  /** Counts of replays, in a dry run and at a start: up to two seconds. */
  "replay-counts": { underWay: 1, waiting: 20, retryAfterSeconds: 2, isLong: true },
  /** Lists that combine filters or skip far. */
  searches: { underWay: 1, waiting: 40, retryAfterSeconds: 2, isLong: true },
  /** Replays of publications, of up to a thousand items. */
  "publication-replays": { underWay: 1, waiting: 20, retryAfterSeconds: 2, isLong: true },
  /** Imports of event types, of up to a thousand types. */
  imports: { underWay: 1, waiting: 5, retryAfterSeconds: 2, isLong: true },
  /** Lists that are merged from many targets, or sorted. */
  lists: { underWay: 3, waiting: 250, retryAfterSeconds: 1, isLong: false },
  /** Statistics; a page asks for those of several targets, six at a time, as browsers do. */
  stats: { underWay: 3, waiting: 60, retryAfterSeconds: 1, isLong: false },
} as const satisfies Record<string, ReadLimit>;

export type ReadKind = keyof typeof readLimits;

/** How long a request waits for its turn before it is answered with 503. */
export const maxWaitMs = 30_000;

/** The share of an organization's places that one of its customers may use. A customer runs one request of each kind at a time. */
const customersPart = 0.25;

/**
 * How many long requests of all kinds and organizations run at a time: a quarter of the pool's connections. An organization may
 * run one, because each may keep one of the database's cores busy.
 */
function mostLong(connections: number): number {
  return Math.max(1, Math.floor(connections / 4));
}
