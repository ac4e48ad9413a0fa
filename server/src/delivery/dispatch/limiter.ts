import type { PermitGrant } from "../rows/permits.ts";

/** The limits that a target's owner has set: one of the two, or both. */
export interface OwnerLimits {
  /** Attempts per second, on all nodes together; null: any. */
  perSecond: number | null;
  /** Requests under way, on all nodes together; null: as many as the service has for a target. */
  maxConcurrency: number | null;
}

/** Permits and requests that a node wants to have. */
export interface Wish {
  permits: number;
  requests: number;
}

/** A permit that was not used for so long is lost: many late ones would be a burst that nobody allowed. */
const permitLifeMs = 250;
/** The multiple of the rate at which a node makes up for late attempts. */
const catchUp = 1.1;
/** The error of timers in a busy process. */
const timerSlackMs = 25;

/**
 * The rate limiter of one target on this node: it spends permits, each for one attempt, and a share of the requests that
 * the target may have under way. The database gives both ({@link takeGrant}), so that the limits hold on all nodes
 * together. Moments are of the monotonic clock, in milliseconds.
 */
export class Limiter {
  #limits: OwnerLimits;
  /** From which moment on each permit may be used, ascending. */
  readonly #permits: number[] = [];
  #intervalMs = 0;
  #burst = 1;
  /** When the node's own attempts are evenly spaced again: late ones are made up for, and not all at once. */
  #evenAtMs = 0;
  /** The share: requests that may be under way, until when one may begin, and when to renew it. */
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

  /** How many requests the share allows. */
  get requests(): number {
    return this.#requests;
  }

  /** The owner changed the limits. */
  setLimits(limits: OwnerLimits): void {
    this.#limits = limits;
  }

  /** The permits and requests that the node wants for the deliveries in memory and the requests under way. */
  wishFor(waiting: number, inFlight: number): Wish {
    const { perSecond, maxConcurrency } = this.#limits;
    return {
      permits: perSecond === null ? 0 : Math.max(0, waiting - this.#permits.length),
      requests: maxConcurrency === null ? 0 : Math.min(maxConcurrency, inFlight + waiting),
    };
  }

  /** Whether the wish is for more than the node has, or the node's share ends soon. */
  isShortOf(wish: Wish, nowMs: number): boolean {
    return (
      wish.permits > 0 || wish.requests > this.#requests || (wish.requests > 0 && nowMs >= this.#renewAtMs)
    );
  }

  /** Uses no more of the share than this from now on: the node is about to give the rest back. */
  keepAtMost(requests: number): void {
    this.#requests = Math.min(this.#requests, requests);
  }

  /** Takes over a grant of the database. @param askedAtMs When it asked. @param startableMs For how long a share is good. */
  takeGrant(
    grant: PermitGrant,
    { askedAtMs, nowMs, startableMs }: { askedAtMs: number; nowMs: number; startableMs: number },
  ): void {
    // The database knows first when a limit is lifted; the lane then looks its target up before it begins anything.
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

  /** Forgets permits that are too old. */
  dropLate(nowMs: number): void {
    let late = 0;
    while (late < this.#permits.length && this.#permits[late]! < nowMs - permitLifeMs) late++;
    if (late > 0) this.#permits.splice(0, late);
  }

  /** Whether an attempt may begin now, with so many under way. */
  mayBegin(inFlight: number, nowMs: number): boolean {
    const { perSecond, maxConcurrency } = this.#limits;
    if (maxConcurrency !== null && (inFlight >= this.#requests || nowMs >= this.#requestsUntilMs))
      return false;
    return perSecond === null || this.nextBeginMs() <= nowMs;
  }

  /** When the permits allow the next attempt; infinity without a permit. */
  nextBeginMs(): number {
    const [permit] = this.#permits;
    if (permit === undefined) return Number.POSITIVE_INFINITY;
    const burstMs = (this.#burst - 1) * (this.#intervalMs / catchUp);
    // A millisecond of tolerance for rounding errors.
    const toleranceMs = Math.max(burstMs + 1, timerSlackMs);
    return Math.max(permit, this.#evenAtMs - toleranceMs);
  }

  /** An attempt begins and uses a permit. */
  begin(nowMs: number): void {
    if (this.#limits.perSecond === null) return;
    this.#permits.shift();
    this.#evenAtMs = Math.max(this.#evenAtMs, nowMs) + this.#intervalMs / catchUp;
  }
}
