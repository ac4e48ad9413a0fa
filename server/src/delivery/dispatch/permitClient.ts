import type pg from "pg";
import type { Log } from "../../telemetry/log.ts";
import { type PermitGrant, type PermitWish, returnShares, takePermits } from "../rows/permits.ts";
import type { Lane } from "./lane.ts";
import type { Limiter, Wish } from "./limiter.ts";

export interface PermitClientDeps {
  pool: pg.Pool;
  log: Log;
  /** Names this dispatcher, as an id. */
  nodeId: string;
  /** The time limit of a whole attempt. */
  timeoutMs: number;
  /** The lane may have something to begin now. */
  ready: (lane: Lane) => void;
  /** Nothing may begin before that moment of the monotonic clock: another node may send what waits in memory. */
  refused: (lane: Lane, untilMs: number) => void;
}

/**
 * The least and the most time ahead for which permits are taken. A target at its limit costs a few calls a second. A database
 * that answers slowly is asked for more permits at a time, so that they last until it has answered.
 */
const leastAheadMs = 250;
const mostAheadMs = 2_000;
const callsAhead = 4;
/** At the limit, the database is not asked more often than this. */
const leastPauseMs = 50;
/** A delivery whose attempt may not begin for longer does not wait in memory. */
const waitLimitMs = 1_000;
/** How long a share can be used to begin attempts; it lasts until these have timed out. */
const startableMs = 14_000;
const leaseMarginMs = 1_000;
/** A node without a share asks again after so many milliseconds, doubled up to the second number. */
const firstRefusalMs = 200;
const longestRefusalMs = 3_200;
/** A target that may have nothing is looked at again after this long, because its owner may have changed its limits. */
const longestWaitMs = 5_000;
const errorPauseMs = 1_000;

/** The exchange with the database about one limiter. */
interface Account {
  lane: Lane;
  limiter: Limiter;
  isAsking: boolean;
  /** The earliest moment at which to ask again. */
  askAtMs: number;
  /** How many times in a row the database had no share to give. */
  refusals: number;
  timer: NodeJS.Timeout | undefined;
}

/** Takes permits and shares from the database, for all lanes that want some in one call at a time. */
export class PermitClient {
  readonly #deps: PermitClientDeps;
  readonly #accounts = new Map<Limiter, Account>();
  readonly #asking = new Set<Account>();
  /** Targets whose share goes back: they have no lane or no limits any more. */
  readonly #returning = new Set<string>();
  #aheadMs = leastAheadMs;
  #isAsking = false;
  /** The end of the last round of calls. */
  #asked: Promise<void> | undefined;
  #isStopping = false;

  constructor(deps: PermitClientDeps) {
    this.#deps = deps;
  }

  /** Asks for what a limited lane with something to send lacks, and calls `ready` when it may begin. */
  want(lane: Lane): void {
    const { limiter } = lane;
    if (limiter === undefined || this.#isStopping) return;
    const nowMs = performance.now();
    limiter.dropLate(nowMs);
    const account = this.#accountOf(lane, limiter);
    if (account.isAsking || !lane.isOpen(nowMs)) return;
    const isShort = limiter.isShortOf(limiter.wishFor(lane.waiting, lane.inFlight), nowMs);
    if (isShort && nowMs >= account.askAtMs) {
      this.#ask(account);
      return;
    }
    const next = limiter.nextBeginMs();
    // A request that may begin now needs no timer: the lane waits in the ready queue.
    this.#wakeAt(account, Math.min(next > nowMs ? next : Infinity, isShort ? account.askAtMs : Infinity));
  }

  /** Gives back what the lane has of its share and does not need. */
  trim(lane: Lane): void {
    const { limiter } = lane;
    if (limiter === undefined || this.#isStopping) return;
    const account = this.#accountOf(lane, limiter);
    if (account.isAsking) return;
    if (limiter.wishFor(lane.waiting, lane.inFlight).requests < limiter.requests) this.#ask(account);
  }

  /** The limiter is used no more: its lane is forgotten, or its target has no limits any more. */
  close(limiter: Limiter): void {
    const account = this.#accounts.get(limiter);
    if (account === undefined) return;
    this.#accounts.delete(limiter);
    clearTimeout(account.timer);
    this.#asking.delete(account);
    if (limiter.requests === 0 && !account.isAsking) return;
    this.#returning.add(account.lane.targetId);
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

  #accountOf(lane: Lane, limiter: Limiter): Account {
    let account = this.#accounts.get(limiter);
    if (account === undefined) {
      account = { lane, limiter, isAsking: false, askAtMs: 0, refusals: 0, timer: undefined };
      this.#accounts.set(limiter, account);
    }
    return account;
  }

  #ask(account: Account): void {
    clearTimeout(account.timer);
    account.isAsking = true;
    this.#asking.add(account);
    this.#returning.delete(account.lane.targetId);
    if (!this.#isAsking) this.#asked = this.#askAll();
  }

  /** Never rejects. */
  async #askAll(): Promise<void> {
    this.#isAsking = true;
    // Deferred, so that all lanes that ask in this turn of the event loop are in one call.
    await Promise.resolve();
    while (this.#asking.size + this.#returning.size > 0 && !this.#isStopping) {
      const asked = new Map<string, Asked>();
      for (const targetId of this.#returning)
        asked.set(targetId, { wish: { targetId, permits: 0, requests: 0 } });
      for (const account of this.#asking) asked.set(account.lane.targetId, askedOf(account));
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
    for (const [targetId, { account, wish }] of asked) {
      if (account === undefined) continue;
      const { lane, limiter } = account;
      account.isAsking = false;
      const grant = grants.get(targetId);
      if (this.#accounts.get(limiter) !== account) {
        // Closed while it asked.
        if ((grant?.requests ?? 0) > 0 && lane.limiter === undefined) this.#returning.add(targetId);
      } else if (grant === undefined) {
        // The target is gone, which its lane learns by itself.
        account.askAtMs = nowMs + (hasFailed ? errorPauseMs : leastPauseMs);
        this.want(lane);
      } else {
        limiter.takeGrant(grant, { askedAtMs, nowMs, startableMs });
        this.#granted({ account, grant, wish, nowMs, aheadMs });
      }
    }
  }

  #granted(granted: Granted): void {
    const { account, grant, wish, nowMs, aheadMs } = granted;
    const { lane, limiter } = account;
    const isShare = wish.requests === 0 || grant.requests !== 0;
    account.refusals = isShare ? 0 : account.refusals + 1;
    account.askAtMs = nowMs + pauseOf(granted);
    const waitMs = isShare ? grant.firstInMs - aheadMs : refusalMs(account.refusals);
    const isWaiting = wish.permits > 0 && limiter.permits.length === 0 && waitMs > waitLimitMs;
    if (isWaiting || (!isShare && lane.inFlight === 0)) {
      const untilMs = nowMs + Math.min(waitMs, longestWaitMs);
      this.#deps.refused(lane, untilMs);
      this.#wakeAt(account, untilMs);
    } else this.#deps.ready(lane);
  }

  #wakeAt(account: Account, atMs: number): void {
    clearTimeout(account.timer);
    if (atMs === Number.POSITIVE_INFINITY) return;
    const inMs = Math.max(1, Math.ceil(atMs - performance.now()));
    account.timer = setTimeout(() => {
      if (!this.#isStopping) this.#deps.ready(account.lane);
    }, inMs).unref();
  }
}

interface Asked {
  wish: PermitWish;
  /** Absent where a share only goes back. */
  account?: Account;
}

interface Granted {
  account: Account;
  grant: PermitGrant;
  wish: Wish;
  nowMs: number;
  /** How far ahead permits were asked for. */
  aheadMs: number;
}

/** The wish for an account. The rest of the share is given up at once: another node may have it before this one is answered. */
function askedOf(account: Account): Asked {
  const { lane, limiter } = account;
  const wish = limiter.wishFor(lane.waiting, lane.inFlight);
  limiter.keepAtMost(wish.requests);
  return { wish: { targetId: lane.targetId, ...wish }, account };
}

/** How long the lane waits before it asks again; 0 while it gets what it wants. */
function pauseOf({ account, grant, wish, nowMs, aheadMs }: Granted): number {
  const pauses: number[] = [];
  const last = account.limiter.permits.at(-1);
  if (grant.permits < wish.permits) {
    const inMs = last === undefined ? grant.firstInMs - aheadMs : last - nowMs - aheadMs / 2;
    pauses.push(Math.min(longestWaitMs, Math.max(leastPauseMs, inMs)));
  }
  if ((grant.requests ?? wish.requests) < wish.requests) pauses.push(refusalMs(account.refusals));
  return pauses.length === 0 ? 0 : Math.min(...pauses);
}

function refusalMs(refusals: number): number {
  return Math.min(longestRefusalMs, firstRefusalMs * 2 ** Math.max(0, refusals - 1));
}
