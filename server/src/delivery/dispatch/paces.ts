import type pg from "pg";
import type { Log } from "../../telemetry/log.ts";
import { type PermitGrant, type PermitWish, returnShares, takePermits } from "../rows/permits.ts";
import { isOpen, type Lane, waiting } from "./lane.ts";
import { dropLate, isWanting, nextBeginMs, type Pace, takeGrant, type Wish, wishOf } from "./pace.ts";

export interface PacesDeps {
  pool: pg.Pool;
  log: Log;
  /** Names this dispatcher, as an id. */
  nodeId: string;
  /** Of a whole attempt. */
  timeoutMs: number;
  /** The lane may have something to begin now. */
  ready: (lane: Lane) => void;
  /** Nothing may begin before that moment of the monotonic clock: others may have what waits in memory. */
  refused: (lane: Lane, untilMs: number) => void;
}

/**
 * Permits are taken for so long ahead, at least and at most: a few calls a second for each target at its limit. A
 * database that is slow to answer is asked for more, so that there are some left until it has answered.
 */
const leastAheadMs = 250;
const mostAheadMs = 2_000;
const callsAhead = 4;
/** At the limit, the database is not asked more often than this. */
const leastPauseMs = 50;
/** What may not begin for longer does not wait in memory. */
const waitLimitMs = 1_000;
/** How long a share can be used to begin attempts; it lasts until these have timed out. */
const startableMs = 14_000;
const leaseMarginMs = 1_000;
/** After so many milliseconds who has no share asks again; doubled up to the second number. */
const firstRefusalMs = 200;
const longestRefusalMs = 3_200;
/** A target that may have nothing is looked at again after this long, because its owner may have changed its limits. */
const longestWaitMs = 5_000;
const errorPauseMs = 1_000;

/** Asks the database for permits and shares, for all lanes that want some in one call at a time. */
export class Paces {
  readonly #deps: PacesDeps;
  readonly #asking = new Set<Lane>();
  /** Targets of lanes that are forgotten and had a share. */
  readonly #returning = new Set<string>();
  #aheadMs = leastAheadMs;
  #isAsking = false;
  /** The end of the last round of calls. */
  #asked: Promise<void> | undefined;
  #isStopping = false;

  constructor(deps: PacesDeps) {
    this.#deps = deps;
  }

  /** Sees that a lane with a pace and something to send gets what it may have, and hears of it in time. */
  want(lane: Lane): void {
    const { pace } = lane;
    if (pace === undefined || this.#isStopping) return;
    const nowMs = performance.now();
    dropLate(pace, nowMs);
    if (pace.isAsking || !isOpen(lane, nowMs)) return;
    const isShort = isWanting(pace, wishOf(pace, waiting(lane), lane.inFlight), nowMs);
    if (isShort && nowMs >= pace.askAtMs) {
      this.#ask(lane, pace);
      return;
    }
    const next = nextBeginMs(pace);
    // What may begin now needs no timer: it waits for a turn.
    this.#wakeAt(lane, pace, Math.min(next > nowMs ? next : Infinity, isShort ? pace.askAtMs : Infinity));
  }

  /** Gives back what the lane has of its share and does not need. */
  trim(lane: Lane): void {
    const { pace } = lane;
    if (pace === undefined || pace.isAsking || this.#isStopping) return;
    if (wishOf(pace, waiting(lane), lane.inFlight).requests < pace.requests) this.#ask(lane, pace);
  }

  /** The lane is forgotten, or its target has no limits any more. */
  forget(lane: Lane): void {
    const { pace } = lane;
    if (pace === undefined) return;
    lane.pace = undefined;
    clearTimeout(pace.timer);
    this.#asking.delete(lane);
    if (pace.requests === 0 && !pace.isAsking) return;
    this.#returning.add(lane.targetId);
    if (!this.#isAsking) this.#asked = this.#askAll();
  }

  /** Takes no more. */
  stop(): void {
    this.#isStopping = true;
  }

  /** Gives everything back: nothing is under way any more. */
  async returnAll(): Promise<void> {
    if (this.#asked === undefined) return;
    await this.#asked;
    await returnShares(this.#deps.pool, this.#deps.nodeId).catch((error: unknown) =>
      this.#deps.log.warn({ err: error }, "shares of requests could not be given back; they lapse"),
    );
  }

  #ask(lane: Lane, pace: Pace): void {
    clearTimeout(pace.timer);
    pace.isAsking = true;
    this.#asking.add(lane);
    this.#returning.delete(lane.targetId);
    if (!this.#isAsking) this.#asked = this.#askAll();
  }

  /** Never rejects. */
  async #askAll(): Promise<void> {
    this.#isAsking = true;
    // Deferred, so that all lanes that ask in this turn of the event loop are in one call.
    await Promise.resolve();
    while (this.#asking.size + this.#returning.size > 0 && !this.#isStopping) {
      const asked = new Map<string, Asked>();
      for (const targetId of this.#returning) asked.set(targetId, gone(targetId));
      for (const lane of this.#asking)
        if (lane.pace !== undefined) asked.set(lane.targetId, askedOf(lane, lane.pace));
      this.#returning.clear();
      this.#asking.clear();
      await this.#askFor(asked);
    }
    this.#isAsking = false;
  }

  async #askFor(asked: ReadonlyMap<string, Asked>): Promise<void> {
    const { pool, nodeId, timeoutMs, log } = this.#deps;
    const askedAtMs = performance.now();
    let grants = new Map<string, PermitGrant>();
    let hasFailed = false;
    try {
      const found = await takePermits(pool, {
        nodeId,
        wishes: [...asked.values()].map(({ wish }) => wish),
        aheadMs: this.#aheadMs,
        leaseMs: startableMs + timeoutMs + leaseMarginMs,
      });
      grants = new Map(found.map((grant) => [grant.targetId, grant]));
    } catch (error) {
      log.warn({ err: error }, "permits could not be taken; trying again");
      hasFailed = true;
    }
    const nowMs = performance.now();
    const aheadMs = this.#aheadMs;
    this.#aheadMs = Math.ceil(
      Math.min(mostAheadMs, Math.max(leastAheadMs, (nowMs - askedAtMs) * callsAhead)),
    );
    for (const [targetId, { lane, pace, wish }] of asked) {
      if (lane === undefined || pace === undefined) continue;
      pace.isAsking = false;
      const grant = grants.get(targetId);
      if (lane.pace !== pace) {
        // Forgotten while it asked.
        if ((grant?.requests ?? 0) > 0 && lane.pace === undefined) this.#returning.add(targetId);
      } else if (grant === undefined) {
        // The target is gone, which its lane learns by itself.
        pace.askAtMs = nowMs + (hasFailed ? errorPauseMs : leastPauseMs);
        this.want(lane);
      } else {
        takeGrant(pace, grant, { askedAtMs, nowMs, startableMs });
        this.#granted(lane, { pace, grant, wish, nowMs, aheadMs });
      }
    }
  }

  #granted(lane: Lane, granted: Granted): void {
    const { pace, grant, wish, nowMs, aheadMs } = granted;
    const isShare = wish.requests === 0 || grant.requests !== 0;
    pace.refusals = isShare ? 0 : pace.refusals + 1;
    pace.askAtMs = nowMs + pauseOf(granted);
    const waitMs = isShare ? grant.firstInMs - aheadMs : refusalMs(pace.refusals);
    const isWaiting = wish.permits > 0 && pace.permits.length === 0 && waitMs > waitLimitMs;
    if (isWaiting || (!isShare && lane.inFlight === 0)) {
      const untilMs = nowMs + Math.min(waitMs, longestWaitMs);
      this.#deps.refused(lane, untilMs);
      this.#wakeAt(lane, pace, untilMs);
    } else this.#deps.ready(lane);
  }

  #wakeAt(lane: Lane, pace: Pace, atMs: number): void {
    clearTimeout(pace.timer);
    if (atMs === Number.POSITIVE_INFINITY) return;
    const inMs = Math.max(1, Math.ceil(atMs - performance.now()));
    pace.timer = setTimeout(() => {
      if (!this.#isStopping) this.#deps.ready(lane);
    }, inMs).unref();
  }
}

interface Asked {
  wish: PermitWish;
  lane?: Lane;
  pace?: Pace;
}

interface Granted {
  pace: Pace;
  grant: PermitGrant;
  wish: Wish;
  nowMs: number;
  /** How far ahead permits were asked for. */
  aheadMs: number;
}

function askedOf(lane: Lane, pace: Pace): Asked {
  return { wish: { targetId: lane.targetId, ...wishOf(pace, waiting(lane), lane.inFlight) }, lane, pace };
}

function gone(targetId: string): Asked {
  return { wish: { targetId, permits: 0, requests: 0 } };
}

/** How long the lane does not ask again: not at all while it gets what it wants. */
function pauseOf({ pace, grant, wish, nowMs, aheadMs }: Granted): number {
  const pauses: number[] = [];
  const last = pace.permits.at(-1);
  if (grant.permits < wish.permits) {
    const inMs = last === undefined ? grant.firstInMs - aheadMs : last - nowMs - aheadMs / 2;
    pauses.push(Math.min(longestWaitMs, Math.max(leastPauseMs, inMs)));
  }
  if ((grant.requests ?? wish.requests) < wish.requests) pauses.push(refusalMs(pace.refusals));
  return pauses.length === 0 ? 0 : Math.min(...pauses);
}

function refusalMs(refusals: number): number {
  return Math.min(longestRefusalMs, firstRefusalMs * 2 ** Math.max(0, refusals - 1));
}
