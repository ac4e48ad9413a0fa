import type pg from "pg";
import type { Log } from "../../telemetry/log.ts";
import {
  mostAheadMs,
  type PermitGrant,
  type PermitWish,
  returnShares,
  takePermits,
} from "../rows/permits.ts";
import type { Lane } from "./lane.ts";
import type { Limiter, Wish } from "./limiter.ts";

export interface PermitClientDeps {
  pool: pg.Pool;
  log: Log;
  /** Id of this dispatcher. */
  nodeId: string;
  /** The time limit of a whole attempt. */
  timeoutMs: number;
  /** Called when the lane may be able to begin a request. */
  ready: (lane: Lane) => void;
  /**
   * Called when no request may begin before `untilMs` (monotonic clock). Another node may send the deliveries that wait in
   * memory.
   */
  refused: (lane: Lane, untilMs: number) => void;
}

/**
 * Permits are taken at least for this time ahead. A target at its limit costs a few calls a second. If the database answers
 * slowly, each call asks for more permits, up to `mostAheadMs`, so that they last until the next answer.
 */
const leastAheadMs = 250;
const callsAhead = 4;
/** The shortest pause between two calls for a target that is at its limit. */
const leastPauseMs = 50;
/** A delivery whose attempt may not begin for longer than this is not kept in memory. */
const waitLimitMs = 1_000;
/** How long a share can be used to begin attempts. The lease of the share lasts until these attempts have timed out. */
const startableMs = 14_000;
const leaseMarginMs = 1_000;
/** Pause of a node that got no share, in milliseconds; doubled after each refusal, up to the second value. */
const firstRefusalMs = 200;
const longestRefusalMs = 3_200;
/** The longest pause of a target that may send nothing; its owner may change the limits meanwhile. */
const longestWaitMs = 5_000;
const errorPauseMs = 1_000;

/** The state of the exchange with the database for one limiter. */
interface Account {
  lane: Lane;
  limiter: Limiter;
  isAsking: boolean;
  /** The earliest time of the next call. */
  askAtMs: number;
  /** Number of consecutive calls for which the database had no share to give. */
  refusals: number;
  timer: NodeJS.Timeout | undefined;
}

/** Takes permits and shares from the database. One call at a time serves all lanes that need some. */
export class PermitClient {
  readonly #deps: PermitClientDeps;
  readonly #accounts = new Map<Limiter, Account>();
  readonly #asking = new Set<Account>();
  /** Targets whose share is to be returned, because they have no lane or no limits any more. */
  readonly #returning = new Set<string>();
  #aheadMs = leastAheadMs;
  #isAsking = false;
  /** Settles when the last round of calls has ended. */
  #asked: Promise<void> | undefined;
  #isStopping = false;

  constructor(deps: PermitClientDeps) {
    this.#deps = deps;
  }

  /** Asks for the permits or share that a limited lane with waiting deliveries needs, and calls `ready` when it may begin. */
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
    // A request that may begin now needs no timer, because its lane waits in the ready queue.
    this.#wakeAt(account, Math.min(next > nowMs ? next : Infinity, isShort ? account.askAtMs : Infinity));
  }

  /** Returns the part of the share that the lane does not need. */
  trim(lane: Lane): void {
    const { limiter } = lane;
    if (limiter === undefined || this.#isStopping) return;
    const account = this.#accountOf(lane, limiter);
    if (account.isAsking) return;
    if (limiter.wishFor(lane.waiting, lane.inFlight).requests < limiter.requests) this.#ask(account);
  }

  /** Stops using the limiter: its lane was removed, or its target has no limits any more. */
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

  /** Stops taking permits and shares. */
  stop(): void {
    this.#isStopping = true;
  }

  /** Returns all shares. Only called when no request is in flight. */
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

  /** The promise never rejects. */
  async #askAll(): Promise<void> {
    this.#isAsking = true;
    // Deferred by a microtask, so that one call serves all lanes that ask in this turn of the event loop.
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
        // The account was closed during the call.
        if ((grant?.requests ?? 0) > 0 && lane.limiter === undefined) this.#returning.add(targetId);
      } else if (grant === undefined) {
        // The target was deleted; its lane learns this when it loads the target.
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
  /** Absent if the target's share is only returned. */
  account?: Account;
}

interface Granted {
  account: Account;
  grant: PermitGrant;
  wish: Wish;
  nowMs: number;
  /** The time ahead for which permits were requested. */
  aheadMs: number;
}

/**
 * The wish of an account. The rest of the share is given up at once, because another node may get it before this call returns.
 */
function askedOf(account: Account): Asked {
  const { lane, limiter } = account;
  const wish = limiter.wishFor(lane.waiting, lane.inFlight);
  limiter.keepAtMost(wish.requests);
  return { wish: { targetId: lane.targetId, ...wish }, account };
}

/** How long to wait before the next call; 0 if the wish was granted in full. */
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
