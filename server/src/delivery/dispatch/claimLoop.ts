import type pg from "pg";
import type { Lease } from "../../items/item.ts";
import type { DeliveryMetrics } from "../../telemetry/deliveryMetrics.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Traces } from "../../telemetry/traces.ts";
import type { Delivery } from "../../items/delivery.ts";
import { bucketOf } from "../../postgres/ids.ts";
import type { Quiet } from "../../runtime/quiet.ts";
import { createSleeper, repeatUntil } from "../../runtime/sleeper.ts";
import { dueTargets, type DueTarget } from "../rows/dueTargets.ts";
import { type Claim, claimDeliveries, type DeliveryClaimRequest, firstCursor } from "../rows/store.ts";
import type { Room } from "./buffer.ts";
import {
  type Chosen,
  type ClaimSize,
  lookAt,
  maxPerClaim,
  nothingSeen,
  shareOfClaim,
  sizeClaim,
} from "./claimPlan.ts";

export interface ClaimLoopDeps {
  pool: pg.Pool;
  log: Log;
  metrics: DeliveryMetrics;
  traces?: Traces | undefined;
  quiet: Quiet;
  newLease: () => Lease;
  /** Room left in memory. */
  room: () => Room;
  /** Targets for which no more deliveries may wait in memory now. */
  fullTargets: () => string[];
  /** Targets for which at least `count` attempts ended in the current or in the previous period. */
  targetsEnding: (count: number) => string[];
  /** Chooses from the targets with due items those that there is room for. */
  choose: (due: readonly DueTarget[]) => Chosen;
  take: (deliveries: Delivery[]) => void;
}

/** How long the loop waits before the next claim if nothing was due. */
const pollMs = 200;
/** The poll interval while the process is quiet. A retry can be late by this time; all other due items wake the loop. */
const quietPollMs = 5_000;
const errorPauseMs = 1_000;
/**
 * A claim that returns fewer deliveries than this spent most of its time on targets whose items are due later. The loop then
 * pauses for as long as the claim took, so that thousands of such targets cost a fraction of a core, not a whole core.
 */
const sparseClaim = 16;
/** The pause after a full circle over all targets that found nothing, as a multiple of the circle's duration. */
const idlePauses = 4;
const maxIdlePauseMs = 1_000;
/**
 * If more targets than this have no room in memory, or there is no room for unproven targets, the loop first looks up which
 * targets have due items, and then claims only from the targets it chooses.
 */
const manyFull = 64;
/** The pause after a look-up that found little, as a multiple of the look-up's duration. */
const lookPauses = 4;
/** How long the loop keeps claiming from targets with more due items before it looks up the due targets again. */
const lookEveryMs = 200;

/** Reads ahead: claims due deliveries from the database into memory while there is room. */
export class ClaimLoop {
  readonly #deps: ClaimLoopDeps;
  readonly #sleeper = createSleeper();
  #cursor = firstCursor;
  #seen = nothingSeen;
  /** Targets that the last claim skipped because they had no room, and whether memory was too short for a full claim. */
  #skipped = new Set<string>();
  #wasMemoryShort = false;
  #circleMs = 0;
  /** Proven targets of the last look-up that have more due items than the claim took, and the time of the next look-up. */
  #unfinished: string[] = [];
  #lookAtMs = 0;
  #stopping = new AbortController();
  #stopWaking: (() => void) | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(deps: ClaimLoopDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#stopping = new AbortController();
    this.#stopWaking = this.#deps.quiet.onEnd(() => this.wake());
    this.#ended = repeatUntil(this.#stopping.signal, this.#sleeper, () => this.#claimOnce());
  }

  /** Called when something became due: claims now instead of at the next poll. */
  wake(): void {
    this.#sleeper.wake();
  }

  /** Whether the last claim left items in the database because this target or the whole memory had no room. */
  wantsRoom(targetId: string): boolean {
    return this.#wasMemoryShort || this.#skipped.has(targetId);
  }

  /** Called when the target, and so the memory, has room again: claims now if room was missing. */
  roomAppeared(targetId: string): void {
    if (!this.wantsRoom(targetId)) return;
    this.#skipped.delete(targetId);
    this.#wasMemoryShort = false;
    this.#sleeper.wake();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#stopWaking?.();
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
      const claim = looksFirst ? await this.#claimChosen(size) : await this.#claim({ ...size, skip: full });
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
   * Used when most of the waiting targets have no room in memory: looks up the due targets, which is cheap, chooses from them,
   * and claims only from the chosen ones. Chosen proven targets with more due items are claimed from again until the next
   * look-up.
   */
  async #claimChosen(size: ClaimSize): Promise<Claim> {
    const unfinished = this.#unfinished.filter((targetId) => !this.#skipped.has(targetId));
    if (unfinished.length > 0 && performance.now() < this.#lookAtMs) {
      const deliveries = await this.#claimProven(unfinished, size);
      return { deliveries, cursor: this.#cursor, isCircleClosed: false };
    }
    const due = await dueTargets(this.#deps.pool, this.#cursor);
    this.#lookAtMs = performance.now() + lookEveryMs;
    const { proven, unproven, lookedAt } = this.#deps.choose(due.targets);
    const deliveries = await this.#claimProven(proven, size);
    const limit = size.limit - deliveries.length;
    if (unproven.length > 0 && limit > 0) {
      const claim = await this.#claim({ limit, few: 1, perTarget: 1, only: unproven, skip: [] });
      deliveries.push(...claim.deliveries);
    }
    const last = lookedAt < due.targets.length ? due.targets[lookedAt - 1] : undefined;
    const behind = last === undefined ? due.cursor : { bucket: bucketOf(last.id), targetId: last.id };
    return { deliveries, cursor: behind ?? firstCursor, isCircleClosed: behind === undefined };
  }

  async #claimProven(targetIds: readonly string[], { limit, few }: ClaimSize): Promise<Delivery[]> {
    this.#unfinished = [];
    if (targetIds.length === 0) return [];
    const perTarget = Math.max(few, shareOfClaim(limit, targetIds.length));
    const { deliveries } = await this.#claim({ limit, few, perTarget, only: targetIds, skip: [] });
    const counts = new Map<string, number>();
    for (const { targetId } of deliveries) counts.set(targetId, (counts.get(targetId) ?? 0) + 1);
    this.#unfinished = targetIds.filter((targetId) => (counts.get(targetId) ?? 0) >= few);
    return deliveries;
  }

  /**
   * Passes the claimed deliveries on.
   * @param pauseMs How long to wait after a claim that returned few deliveries.
   * @returns how long to wait before the next claim, in milliseconds.
   */
  #take({ deliveries, cursor, isCircleClosed }: Claim, pauseMs: number): number {
    this.#cursor = cursor;
    if (deliveries.length > 0) {
      this.#seen = lookAt(deliveries, this.#seen);
      this.#deps.metrics.claimed(deliveries.length);
      this.#deps.quiet.note();
      this.#deps.take(deliveries);
      this.#circleMs = 0;
      if (isCircleClosed && this.#areFull(this.#seen.targets)) return pollMs;
      return deliveries.length < sparseClaim ? pauseMs : 0;
    }
    this.#circleMs += pauseMs;
    if (!isCircleClosed) return pauseMs;
    const idleMs = Math.min(maxIdlePauseMs, this.#circleMs * idlePauses);
    this.#circleMs = 0;
    return Math.max(this.#deps.quiet.isQuiet() ? quietPollMs : pollMs, idleMs);
  }

  /** Whether none of these targets has room. The first target that has room again wakes the loop. */
  #areFull(targets: ReadonlySet<string>): boolean {
    this.#skipped = new Set(this.#deps.fullTargets());
    return targets.isSubsetOf(this.#skipped);
  }
}
