import type { PermitGrant } from "../rows/permits.ts";

/** The limits that a target's owner has set: at least one of the two. */
export interface OwnerLimits {
  /** Attempts per second, over all nodes; null if unlimited. */
  perSecond: number | null;
  /** Requests in flight, over all nodes; null if only the service's own limit applies. */
  maxConcurrency: number | null;
}

/** The numbers of permits and of requests in flight that a node asks for. */
export interface Wish {
  permits: number;
  requests: number;
}

/** A permit that is unused for this long expires. Many late permits would allow a burst above the owner's limit. */
const permitLifeMs = 250;
/** The multiple of the rate at which a node catches up on late attempts. */
const catchUp = 1.1;
/** How late a timer of a busy process may fire. */
const timerSlackMs = 25;

/**
 * The rate limiter of one target on this node. It holds permits, each for one attempt, and a share of the requests that the
 * target may have in flight. The database grants both ({@link takeGrant}), so that the limits hold over all nodes. Times are on
 * the monotonic clock, in milliseconds.
 */
export class Limiter {
  #limits: OwnerLimits;
  /** The time from which each permit is valid, ascending. */
  readonly #permits: number[] = [];
  #intervalMs = 0;
  #burst = 1;
  /** When the node's own attempts are evenly spaced again. Late attempts are caught up on gradually, not all at once. */
  #evenAtMs = 0;
  /** The share: the number of requests that may be in flight, until when a request may begin, and when to renew the share. */
  #requests = 0;
  #requestsUntilMs = 0;
  #renewAtMs = 0;

  constructor(limits: OwnerLimits) {
    this.#limits = limits;
  }

  get limits(): OwnerLimits {
    return this.#limits;
  }

  get permits(): readonly number[] {
    return this.#permits;
  }

  /** Number of requests that the share allows. */
  get requests(): number {
    return this.#requests;
  }

  /** Called when the owner has changed the limits. */
  setLimits(limits: OwnerLimits): void {
    this.#limits = limits;
  }

  /** The permits and requests needed for the deliveries in memory and the requests in flight. */
  wishFor(waiting: number, inFlight: number): Wish {
    const { perSecond, maxConcurrency } = this.#limits;
    return {
      permits: perSecond === null ? 0 : Math.max(0, waiting - this.#permits.length),
      requests: maxConcurrency === null ? 0 : Math.min(maxConcurrency, inFlight + waiting),
    };
  }

  /** Whether the wish exceeds what the node has, or the node's share must be renewed. */
  isShortOf(wish: Wish, nowMs: number): boolean {
    return (
      wish.permits > 0 || wish.requests > this.#requests || (wish.requests > 0 && nowMs >= this.#renewAtMs)
    );
  }

  /** Reduces the share to at most `requests`, because the node is about to return the rest. */
  keepAtMost(requests: number): void {
    this.#requests = Math.min(this.#requests, requests);
  }

  /**
   * Stores a grant of the database. @param askedAtMs When the node asked for it. @param startableMs How long the share may be
   * used to begin requests.
   */
  takeGrant(
    grant: PermitGrant,
    { askedAtMs, nowMs, startableMs }: { askedAtMs: number; nowMs: number; startableMs: number },
  ): void {
    // The database may know earlier that a limit was removed. The lane then loads its target before it begins a request.
    this.#limits = {
      perSecond: grant.intervalMs === null ? null : this.#limits.perSecond,
      maxConcurrency: grant.requests === null ? null : this.#limits.maxConcurrency,
    };
    this.#intervalMs = grant.intervalMs ?? 0;
    this.#burst = grant.burst;
    for (let number = 0; number < grant.permits; number++) {
      this.#permits.push(nowMs + Math.max(0, grant.firstInMs + number * this.#intervalMs));
    }
    this.#requests = grant.requests ?? 0;
    this.#requestsUntilMs = askedAtMs + startableMs;
    this.#renewAtMs = askedAtMs + startableMs / 2;
  }

  /** Removes expired permits. */
  dropLate(nowMs: number): void {
    let late = 0;
    while (late < this.#permits.length && this.#permits[late]! < nowMs - permitLifeMs) late++;
    if (late > 0) this.#permits.splice(0, late);
  }

  /** Whether an attempt may begin now, given the number of requests in flight. */
  mayBegin(inFlight: number, nowMs: number): boolean {
    const { perSecond, maxConcurrency } = this.#limits;
    if (maxConcurrency !== null && (inFlight >= this.#requests || nowMs >= this.#requestsUntilMs))
      return false;
    return perSecond === null || this.nextBeginMs() <= nowMs;
  }

  /** When the permits allow the next attempt; infinity if there is no permit. */
  nextBeginMs(): number {
    const [permit] = this.#permits;
    if (permit === undefined) return Number.POSITIVE_INFINITY;
    const burstMs = (this.#burst - 1) * (this.#intervalMs / catchUp);
    // A millisecond of tolerance for rounding errors.
    const toleranceMs = Math.max(burstMs + 1, timerSlackMs);
    return Math.max(permit, this.#evenAtMs - toleranceMs);
  }

  /** Called when an attempt begins: uses one permit. */
  begin(nowMs: number): void {
    if (this.#limits.perSecond === null) return;
    this.#permits.shift();
    this.#evenAtMs = Math.max(this.#evenAtMs, nowMs) + this.#intervalMs / catchUp;
  }
}
