import type pg from "pg";
import type { Lease } from "../../items/item.ts";
import type { DeliveryMetrics } from "../../telemetry/deliveryMetrics.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Traces } from "../../telemetry/traces.ts";
import { lookAt, maxPerClaim, nothingSeen, sizeClaim } from "./claimSize.ts";
import type { Delivery } from "../../items/delivery.ts";
import { createSleeper, repeatUntil } from "../../runtime/sleeper.ts";
import { dueTargets, type DueTarget } from "../rows/dueTargets.ts";
import { type Claim, claimDeliveries, type DeliveryClaimRequest, firstCursor } from "../rows/store.ts";
import type { Chosen } from "./chooseDue.ts";
import { ChosenClaims } from "./chosenClaims.ts";
import type { Room } from "./waitingRoom.ts";

/** Reads ahead: claims due deliveries from the database into memory while there is room. */
export interface ClaimLoop {
  start(): void;
  /** Something is due: look now rather than at the next poll. */
  wake(): void;
  /** Whether the last claim left something for want of room, of this target's or in memory. */
  wantsRoom(targetId: string): boolean;
  /** The target, and so the memory, has room again: look now, if that was wanted. */
  roomAppeared(targetId: string): void;
  stop(): Promise<void>;
}

export interface ClaimLoopDeps {
  pool: pg.Pool;
  log: Log;
  metrics: DeliveryMetrics;
  traces?: Traces | undefined;
  newLease: () => Lease;
  /** How much more fits in memory. */
  room: () => Room;
  /** Targets that can take no more in memory now. */
  fullTargets: () => string[];
  /** Targets that have ended at least so many deliveries of late. */
  targetsEnding: (count: number) => string[];
  /** Chooses, from targets with something due, those that there is room for. */
  choose: (due: readonly DueTarget[]) => Chosen;
  take: (deliveries: Delivery[]) => void;
}

/** How long nothing may be due before the database is asked again. */
const pollMs = 200;
const errorPauseMs = 1_000;
/**
 * A claim that brings less than this was mostly spent on targets that wait for a later moment. Such claims pause for as
 * long as they took, so that thousands of those targets cost a fraction of a core and not a whole one.
 */
const sparseClaim = 16;
/** The pause is this many times as long when a whole circle brought nothing. */
const idlePauses = 4;
const maxIdlePauseMs = 1_000;
/**
 * When more targets than this have no room, or none that is untried has any, a claim begins with a look at what is due,
 * and is told what to take.
 */
const manyFull = 64;
/** A look that brought little pauses for so many times as long as it took. */
const lookPauses = 4;

export function createClaimLoop(deps: ClaimLoopDeps): ClaimLoop {
  return new Claims(deps);
}

class Claims implements ClaimLoop {
  readonly #deps: ClaimLoopDeps;
  readonly #sleeper = createSleeper();
  readonly #chosen: ChosenClaims;
  #cursor = firstCursor;
  #seen = nothingSeen;
  /** Why the last claim left something behind: no room for some targets, or no memory for any. */
  #skipped = new Set<string>();
  #wasMemoryShort = false;
  #circleMs = 0;
  #stopping = new AbortController();
  #ended: Promise<void> = Promise.resolve();

  constructor(deps: ClaimLoopDeps) {
    this.#deps = deps;
    this.#chosen = new ChosenClaims({
      look: (cursor) => dueTargets(deps.pool, cursor),
      choose: deps.choose,
      claim: (only, size) => this.#claim({ ...size, only, skip: [] }),
    });
  }

  start(): void {
    this.#stopping = new AbortController();
    this.#ended = repeatUntil(this.#stopping.signal, this.#sleeper, () => this.#claimOnce());
  }

  wake(): void {
    this.#sleeper.wake();
  }

  wantsRoom(targetId: string): boolean {
    return this.#wasMemoryShort || this.#skipped.has(targetId);
  }

  roomAppeared(targetId: string): void {
    if (!this.wantsRoom(targetId)) return;
    this.#skipped.delete(targetId);
    this.#wasMemoryShort = false;
    this.#sleeper.wake();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#sleeper.wake();
    await this.#ended;
  }

  /** @returns how long to wait before the next claim, in milliseconds. */
  async #claimOnce(): Promise<number> {
    const room = this.#deps.room();
    const size = sizeClaim(room, this.#seen);
    const full = this.#deps.fullTargets();
    this.#skipped = new Set(full);
    this.#wasMemoryShort = size.limit < maxPerClaim;
    if (size.limit === 0) return pollMs;
    const startedAtMs = performance.now();
    try {
      const looksFirst = full.length > manyFull || room.unproven === 0;
      const claim = looksFirst
        ? await this.#chosen.next(this.#cursor, size, this.#skipped)
        : await this.#claim({ ...size, skip: full });
      const tookMs = performance.now() - startedAtMs;
      return this.#take(claim, looksFirst ? tookMs * lookPauses : tookMs);
    } catch (error) {
      this.#deps.log.warn({ err: error }, "due deliveries could not be claimed; trying again");
      return errorPauseMs;
    }
  }

  #claim(request: Omit<DeliveryClaimRequest, "leaseMs" | "leaseToken" | "cursor" | "wide">): Promise<Claim> {
    const lease = this.#deps.newLease();
    const { pool, traces } = this.#deps;
    const asked = {
      ...request,
      leaseMs: lease.durationMs,
      leaseToken: lease.token,
      cursor: this.#cursor,
      wide: request.perTarget > request.few ? this.#deps.targetsEnding(request.few) : [],
    };
    return claimDeliveries(pool, asked, traces);
  }

  /**
   * Hands over what a claim brought.
   * @param pauseMs How long to wait after a claim that brought little.
   * @returns how long to wait before the next.
   */
  #take({ deliveries, cursor, isCircleClosed }: Claim, pauseMs: number): number {
    this.#cursor = cursor;
    if (deliveries.length > 0) {
      this.#seen = lookAt(deliveries, this.#seen);
      this.#deps.metrics.claimed(deliveries.length);
      this.#deps.take(deliveries);
      this.#circleMs = 0;
      if (isCircleClosed && this.#areFull(this.#seen.targets)) return pollMs;
      return deliveries.length < sparseClaim ? pauseMs : 0;
    }
    this.#circleMs += pauseMs;
    if (!isCircleClosed) return pauseMs;
    const idleMs = Math.min(maxIdlePauseMs, this.#circleMs * idlePauses);
    this.#circleMs = 0;
    return Math.max(pollMs, idleMs);
  }

  /** Whether these have no more room; the first that has some again wakes the loop. */
  #areFull(targets: ReadonlySet<string>): boolean {
    this.#skipped = new Set(this.#deps.fullTargets());
    return targets.isSubsetOf(this.#skipped);
  }
}
