import type { PermitGrant } from "../rows/permits.ts";

/** What a target's owner allows; at least one of the two is set. */
export interface PaceLimits {
  /** Attempts per second, on all nodes together; null: any. */
  perSecond: number | null;
  /** Requests under way, on all nodes together; null: as many as the service has for a target. */
  maxConcurrency: number | null;
}

/**
 * How fast this node may send to a target whose owner has set a limit: the permits and the share of the requests that it
 * has been given. Moments are of the monotonic clock, in milliseconds.
 */
export interface Pace {
  limits: PaceLimits;
  /** Each for one attempt that begins at that moment or a little later; ascending. */
  readonly permits: number[];
  intervalMs: number;
  burst: number;
  /** When the node's own attempts are even again: what is late is made up for, and not all at once. */
  evenAtMs: number;
  /** How many requests may be under way, until when one may begin, and when that is to be renewed. */
  requests: number;
  requestsUntilMs: number;
  renewAtMs: number;
  /** No permits are asked for before. */
  askAtMs: number;
  isAsking: boolean;
  /** How often in a row there was no share. */
  refusals: number;
  timer: NodeJS.Timeout | undefined;
}

/** A permit that was not used for so long is lost: many late ones would be a burst that nobody allowed. */
const permitLifeMs = 250;
/** A node makes up for what is late at this times the rate. */
const catchUp = 1.1;
/** What the timers of a busy process are off by. */
const timerSlackMs = 25;

export function createPace(limits: PaceLimits): Pace {
  return {
    limits,
    permits: [],
    intervalMs: 0,
    burst: 1,
    evenAtMs: 0,
    requests: 0,
    requestsUntilMs: 0,
    renewAtMs: 0,
    askAtMs: 0,
    isAsking: false,
    refusals: 0,
    timer: undefined,
  };
}

/** How much more the node wants. */
export interface Wish {
  permits: number;
  requests: number;
}

/** What is wanted for so many deliveries that wait in memory, and requests that are under way. */
export function wishOf({ limits, permits }: Pace, waiting: number, inFlight: number): Wish {
  return {
    permits: limits.perSecond === null ? 0 : Math.max(0, waiting - permits.length),
    requests: limits.maxConcurrency === null ? 0 : Math.min(limits.maxConcurrency, inFlight + waiting),
  };
}

/** Whether that is more than the node has, or has for much longer. */
export function isWanting({ requests, renewAtMs }: Pace, wish: Wish, nowMs: number): boolean {
  return wish.permits > 0 || wish.requests > requests || (wish.requests > 0 && nowMs >= renewAtMs);
}

/** Takes over what the node was given. @param askedAtMs When it asked. @param startableMs For how long a share is good. */
export function takeGrant(
  pace: Pace,
  grant: PermitGrant,
  { askedAtMs, nowMs, startableMs }: { askedAtMs: number; nowMs: number; startableMs: number },
): void {
  // The database knows first when a limit is lifted; the lane then looks its target up before it begins anything.
  pace.limits = {
    perSecond: grant.intervalMs === null ? null : pace.limits.perSecond,
    maxConcurrency: grant.requests === null ? null : pace.limits.maxConcurrency,
  };
  pace.intervalMs = grant.intervalMs ?? 0;
  pace.burst = grant.burst;
  for (let number = 0; number < grant.permits; number++) {
    pace.permits.push(nowMs + Math.max(0, grant.firstInMs + number * pace.intervalMs));
  }
  pace.requests = grant.requests ?? 0;
  pace.requestsUntilMs = askedAtMs + startableMs;
  pace.renewAtMs = askedAtMs + startableMs / 2;
}

/** Forgets permits that are too old. */
export function dropLate(pace: Pace, nowMs: number): void {
  let late = 0;
  while (late < pace.permits.length && pace.permits[late]! < nowMs - permitLifeMs) late++;
  if (late > 0) pace.permits.splice(0, late);
}

/** Whether an attempt may begin now, with so many under way. */
export function mayBegin(pace: Pace, inFlight: number, nowMs: number): boolean {
  const { perSecond, maxConcurrency } = pace.limits;
  if (maxConcurrency !== null && (inFlight >= pace.requests || nowMs >= pace.requestsUntilMs)) return false;
  return perSecond === null || nextBeginMs(pace) <= nowMs;
}

/** When the next attempt may begin as far as permits go; never, without one. */
export function nextBeginMs(pace: Pace): number {
  const [permit] = pace.permits;
  if (permit === undefined) return Number.POSITIVE_INFINITY;
  const burstMs = (pace.burst - 1) * (pace.intervalMs / catchUp);
  // A millisecond for sums that are not exact.
  const toleranceMs = Math.max(burstMs + 1, timerSlackMs);
  return Math.max(permit, pace.evenAtMs - toleranceMs);
}

/** An attempt begins. */
export function begin(pace: Pace, nowMs: number): void {
  if (pace.limits.perSecond === null) return;
  pace.permits.shift();
  pace.evenAtMs = Math.max(pace.evenAtMs, nowMs) + pace.intervalMs / catchUp;
}
