import type pg from "pg";
import type { Acceptance, Lease, NewItem } from "../../items/item.ts";
import type { Log } from "../../telemetry/log.ts";
import type { DeliveryGauges, DeliveryMetrics } from "../../telemetry/deliveryMetrics.ts";
import { type ClaimLoop, type ClaimLoopDeps, createClaimLoop } from "./claimLoop.ts";
import { attempt, type Senders } from "../attempt/attempt.ts";
import type { AttemptResult, Delivery } from "../../items/delivery.ts";
import {
  createLane,
  hasRoom,
  isEmpty,
  type Lane,
  mayStart,
  noteSuccess,
  noteTrouble,
  put,
  type Share,
  takeAll,
  takeNext,
  waiting,
} from "./lane.ts";
import type { Lending } from "./lending.ts";
import type { AttemptRecorder } from "../attempt/recordAttempts.ts";
import type { Settler } from "../attempt/settleAttempt.ts";
import { createReleases, type Releases } from "./releases.ts";
import { createTargetChecks, type TargetChecks } from "./targetChecks.ts";
import type { TargetConfig } from "../../targets/targetConfig.ts";
import type { Borrowing } from "./borrowedClaims.ts";
import type { SecretBox } from "../../items/secretBox.ts";

export interface DispatcherDeps {
  pool: pg.Pool;
  box: SecretBox;
  log: Log;
  metrics: DeliveryMetrics;
  recorder: AttemptRecorder;
  settler: Settler;
  senders: Senders;
  /** Whether this process dispatches at all; when not, everything is left to the nodes that do. */
  enabled: boolean;
  timeoutMs: number;
  /** Requests under way to one target. */
  targetConcurrency: number;
  /** Requests under way in all. */
  maxInFlight: number;
  /** A whole random number below 2^53, for lease tokens. */
  newToken: () => number;
  /** What brings due deliveries into memory; the circle over all targets unless told. */
  createClaims?: (deps: ClaimLoopDeps) => ClaimLoop;
  /** The part of targets' requests that another thread has. */
  lending?: Lending;
  /** Told, where targets are another thread's, what becomes of them. */
  borrowing?: Borrowing;
}

interface EndedAttempt {
  delivery: Delivery;
  target: TargetConfig;
  result: AttemptResult;
  /** Unix milliseconds. */
  attemptedAtMs: number;
}

/** A lease outlives an attempt by this much, which is how long an item may wait in memory. */
const leaseMarginMs = 10_000;
/** What must be left of the margin when the attempt starts. */
const leaseReserveMs = 2_000;
/**
 * A target's configuration is looked up again before use when no acceptance or claim confirmed it for this long. By
 * so much may an item that waits in memory miss that its target was deleted, disabled or changed.
 */
const configAgeLimitMs = 200;
const tickMs = 500;
const maxInMemory = 8_192;
const maxBytesInMemory = 128 * 1024 * 1024;
const maxUnrecorded = 4_096;
/**
 * One target may have this part of what is still free. The more targets hang, the less each of them holds, and
 * something is left for the next (Choudhury and Hahne, "Dynamic queue length thresholds", 1998).
 */
const partOfFree = 1 / 8;

/**
 * Sees deliveries out: those this node accepted come from memory, all others are claimed. One lane per target
 * keeps the targets apart; lanes take turns, so that none delays another.
 */
export class Dispatcher implements DeliveryGauges {
  readonly #deps: DispatcherDeps;
  readonly #lanes = new Map<string, Lane>();
  /** Lanes with something waiting, in the order of their turns. */
  #turns: Lane[] = [];
  #inFlight = 0;
  #inMemory = 0;
  #bytesInMemory = 0;
  readonly #checks: TargetChecks;
  readonly #releases: Releases;
  #isStopping = false;
  #ticker: NodeJS.Timeout | undefined;
  #claims: ClaimLoop | undefined;
  #onIdle: (() => void) | undefined;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#releases = createReleases(deps.pool, deps.log);
    this.#checks = createTargetChecks({
      ...deps,
      apply: (lane, config, askedAtMs) => this.#applyConfig(lane, config, askedAtMs),
      applied: () => this.#pump(),
    });
  }

  start(): void {
    if (!this.#deps.enabled) return;
    this.#ticker = setInterval(() => this.#tick(), tickMs);
    this.#claims = (this.#deps.createClaims ?? createClaimLoop)({
      pool: this.#deps.pool,
      log: this.#deps.log,
      metrics: this.#deps.metrics,
      newLease: () => this.newLease(),
      room: () => ({
        deliveries: Math.max(0, maxInMemory - this.#inMemory),
        bytes: Math.max(0, maxBytesInMemory - this.#bytesInMemory),
      }),
      fullTargets: () => this.#fullTargets(),
      targetsEnding: (count) => this.#targetsEnding(count),
      take: (deliveries) => {
        for (const delivery of deliveries) this.#add(delivery);
        this.#pump();
      },
      onBacklog: (targetIds) => this.#lend(targetIds),
      forgetIdle: (targetId) => this.#forgetIdle(targetId),
    });
    this.#claims.start();
  }

  /** Stops claiming, lets what is under way end within the attempt's timeout, and gives the rest back. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#checks.stop();
    clearInterval(this.#ticker);
    await this.#claims?.stop();
    for (const lane of this.#lanes.values()) this.#releaseWaiting(lane);
    await this.#releases.flush();
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.#deps.recorder.drained();
    this.#deps.recorder.stop();
  }

  newLease(): Lease {
    return { token: this.#deps.newToken(), durationMs: this.#deps.timeoutMs + leaseMarginMs };
  }

  hasRoom(targetId: string): boolean {
    if (!this.#deps.enabled || this.#isStopping) return false;
    if (this.#inMemory >= maxInMemory) return false;
    const lane = this.#lanes.get(targetId);
    return lane === undefined || hasRoom(lane, performance.now(), this.#memoryShare());
  }

  /** Takes an item that this node has just accepted, under the lease it was stored with. */
  take(item: NewItem, acceptance: Acceptance): void {
    const delivery: Delivery = {
      eventId: item.id,
      rowId: acceptance.rowId,
      targetId: item.targetId,
      kind: acceptance.kind as 1 | 3,
      attempts: 0,
      scheduleAttempts: 0,
      targetVersion: acceptance.targetVersion,
      payload: item.payload,
      eventType: item.eventType,
      correlationId: item.correlationId,
      leaseToken: acceptance.lease.token,
      leaseDeadlineMs: acceptance.lease.deadlineMs,
    };
    this.#startFrom(this.#add(delivery));
  }

  /** Something became due that this node does not hold. */
  onDue(): void {
    this.#claims?.wake();
  }

  inFlight(): number {
    return this.#inFlight;
  }

  inMemory(): number {
    return this.#inMemory;
  }

  openCircuits(): number {
    const nowMs = performance.now();
    let open = 0;
    for (const lane of this.#lanes.values()) if (lane.openUntilMs > nowMs) open++;
    return open;
  }

  #laneOf(targetId: string): Lane {
    let lane = this.#lanes.get(targetId);
    if (lane === undefined) {
      lane = createLane(targetId, this.#deps.borrowing?.requestsOf(targetId) ?? this.#deps.targetConcurrency);
      this.#lanes.set(targetId, lane);
    }
    return lane;
  }

  #add(delivery: Delivery): Lane {
    const lane = this.#laneOf(delivery.targetId);
    this.#inMemory++;
    this.#bytesInMemory += delivery.payload.length;
    put(lane, delivery);
    if (lane.config?.version === delivery.targetVersion) lane.checkedAtMs = performance.now();
    if (waiting(lane) === 1) this.#turns.push(lane);
    return lane;
  }

  #remove(lane: Lane): Delivery | undefined {
    const delivery = takeNext(lane);
    if (delivery === undefined) return undefined;
    this.#inMemory--;
    this.#bytesInMemory -= delivery.payload.length;
    return delivery;
  }

  /** Gives each waiting lane a turn until none can start anything more. */
  #pump(): void {
    let idleTurns = 0;
    while (this.#turns.length > idleTurns && this.#mayStartAny()) {
      const lane = this.#turns.shift()!;
      const started = this.#startOne(lane);
      if (waiting(lane) > 0) this.#turns.push(lane);
      idleTurns = started ? 0 : idleTurns + 1;
    }
  }

  /** Starts what one lane can have, for the path on which nobody else waits for a turn. */
  #startFrom(lane: Lane): void {
    if (this.#turns.length > 1 && !this.#mayStartAny()) return;
    while (waiting(lane) > 0 && this.#mayStartAny() && this.#startOne(lane));
    if (waiting(lane) === 0) this.#endTurn(lane);
  }

  #endTurn(lane: Lane): void {
    const last = this.#turns.length - 1;
    if (this.#turns[last] === lane) {
      this.#turns.pop();
      return;
    }
    const index = this.#turns.indexOf(lane);
    if (index >= 0) this.#turns.splice(index, 1);
  }

  #mayStartAny(): boolean {
    return this.#free() > 0 && this.#deps.recorder.pending() < maxUnrecorded;
  }

  #startOne(lane: Lane): boolean {
    const nowMs = performance.now();
    if (!mayStart(lane, nowMs, this.#startShare())) return false;
    const next = lane.queue[lane.head];
    if (next === undefined) return false;
    if (
      lane.config === undefined ||
      lane.config.version < next.targetVersion ||
      nowMs - lane.checkedAtMs > configAgeLimitMs
    ) {
      this.#checks.ask(lane);
      return false;
    }
    if (!lane.config.enabled) {
      this.#releaseWaiting(lane);
      return false;
    }
    const delivery = this.#remove(lane)!;
    if (delivery.leaseDeadlineMs - nowMs < this.#deps.timeoutMs + leaseReserveMs) {
      this.#releases.add(delivery);
      return true;
    }
    lane.inFlight++;
    this.#inFlight++;
    const target = lane.config;
    const attemptedAtMs = Date.now();
    attempt(this.#deps, delivery, target, (result) =>
      this.#end(lane, { delivery, target, result, attemptedAtMs }),
    );
    return true;
  }

  #end(lane: Lane, { delivery, target, result, attemptedAtMs }: EndedAttempt): void {
    lane.inFlight--;
    this.#inFlight--;
    const { verdict } = result;
    if (verdict.outcome === "delivered") noteSuccess(lane);
    else this.#noteTrouble(lane, verdict.outcome === "retry" && verdict.slowDown);
    this.#deps.lending?.ended(lane);
    this.#deps.settler.settle(delivery, target, result, attemptedAtMs);
    if (this.#turns.length > 1) this.#pump();
    else if (waiting(lane) > 0) this.#startFrom(lane);
    if (this.#claims?.wantsRoom(lane.targetId) && hasRoom(lane, performance.now(), this.#memoryShare()))
      this.#claims.roomAppeared(lane.targetId);
    if (this.#inFlight === 0) this.#onIdle?.();
    if (isEmpty(lane)) this.#deps.borrowing?.idle(lane.targetId);
  }

  #noteTrouble(lane: Lane, slowDown: boolean): void {
    const nowMs = performance.now();
    noteTrouble(lane, slowDown, nowMs);
    if (lane.openUntilMs <= nowMs) return;
    this.#deps.borrowing?.troubled(lane.targetId);
    this.#releaseWaiting(lane);
  }

  /** What waits for a deleted or disabled target goes back, where the claim path settles or holds it. */
  #applyConfig(lane: Lane, config: TargetConfig | undefined, askedAtMs: number): void {
    lane.config = config;
    lane.checkedAtMs = askedAtMs;
    if (config === undefined || !config.enabled) this.#releaseWaiting(lane);
  }

  #releaseWaiting(lane: Lane): void {
    if (waiting(lane) === 0) return;
    for (const delivery of takeAll(lane)) {
      this.#inMemory--;
      this.#bytesInMemory -= delivery.payload.length;
      this.#releases.add(delivery);
    }
    this.#endTurn(lane);
  }

  #fullTargets(): string[] {
    const nowMs = performance.now();
    const share = this.#memoryShare();
    const full: string[] = [];
    for (const lane of this.#lanes.values()) if (!hasRoom(lane, nowMs, share)) full.push(lane.targetId);
    return full;
  }

  #targetsEnding(count: number): string[] {
    const found: string[] = [];
    for (const lane of this.#lanes.values()) {
      if (lane.recent >= count || lane.previous >= count) found.push(lane.targetId);
    }
    return found;
  }

  /** Offers the other thread a part of what these webhooks' targets may have under way. */
  #lend(targetIds: readonly string[]): void {
    for (const targetId of targetIds) {
      const lane = this.#lanes.get(targetId);
      if (lane?.queue[lane.head]?.kind === 1) this.#deps.lending?.offer(lane, this.#startShare());
    }
  }

  #forgetIdle(targetId: string): boolean {
    const lane = this.#lanes.get(targetId);
    if (lane !== undefined && !isEmpty(lane)) return false;
    this.#lanes.delete(targetId);
    return true;
  }

  #startShare(): number {
    return Math.max(1, this.#free() * partOfFree);
  }

  /** How many more requests may start here. */
  #free(): number {
    return this.#deps.maxInFlight - this.#inFlight - (this.#deps.lending?.requests() ?? 0);
  }

  #memoryShare(): Share {
    return {
      deliveries: (maxInMemory - this.#inMemory) * partOfFree,
      bytes: (maxBytesInMemory - this.#bytesInMemory) * partOfFree,
    };
  }

  #tick(): void {
    const nowMs = performance.now();
    for (const [targetId, lane] of this.#lanes) {
      lane.previous = lane.recent;
      lane.recent = 0;
      const isIdle = isEmpty(lane) && lane.previous === 0 && !this.#deps.lending?.isLent(targetId);
      if (isIdle && lane.openUntilMs < nowMs - 60_000) this.#lanes.delete(targetId);
    }
    void this.#releases.flush();
    this.#pump();
  }
}
