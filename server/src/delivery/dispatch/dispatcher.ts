import type { AttemptResult, Delivery } from "../../items/delivery.ts";
import type { Lease, LeasedItem, NewItem } from "../../items/item.ts";
import type { TargetConfig } from "../../targets/targetConfig.ts";
import type { DeliveryGauges } from "../../telemetry/deliveryMetrics.ts";
import { attempt } from "../attempt/attempt.ts";
import { Admission, isUnproven } from "./admission.ts";
import { chooseDue } from "./chooseDue.ts";
import { type ClaimLoop, createClaimLoop } from "./claimLoop.ts";
import type { DispatcherDeps } from "./dispatcherDeps.ts";
import { createJudge, type Judge } from "./judge.ts";
import { hold, isCircuitOpen, isEmpty, isReady, isTripped, type Lane, waiting } from "./lane.ts";
import { Lanes } from "./lanes.ts";
import { begin } from "./pace.ts";
import { Paces } from "./paces.ts";
import { createReleases, type Releases } from "./releases.ts";
import { createTargetChecks, type TargetChecks } from "./targetChecks.ts";
import { createUnsentReport, type UnsentReport } from "./unsentReport.ts";

interface EndedAttempt {
  delivery: Delivery;
  target: TargetConfig;
  result: AttemptResult;
  /** Unix milliseconds. */
  attemptedAtMs: number;
}

/**
 * A lease outlives an attempt by the margin, which is how long an item may wait in memory; the reserve of it must be left
 * when the attempt starts.
 */
const lease = { marginMs: 10_000, reserveMs: 2_000 };
/**
 * A target's configuration is looked up again before use when no acceptance or claim confirmed it for this long. By
 * so much may an item that waits in memory miss that its target was deleted, disabled or changed.
 */
const configAgeLimitMs = 200;
const tickMs = 500;
const maxUnrecorded = 4_096;
/** How long a target is left alone after this process lacked resources to send to it (such as file descriptors). */
const unsentPauseMs = 500;

/**
 * Sees deliveries out: those this node accepted come from memory, all others are claimed. One lane per target
 * keeps the targets apart; they run on budgets by what is known of them, and take turns, so that none delays another.
 */
export class Dispatcher implements DeliveryGauges {
  readonly #deps: DispatcherDeps;
  readonly #admission: Admission;
  readonly #lanes: Lanes;
  readonly #paces: Paces;
  readonly #judge: Judge;
  readonly #checks: TargetChecks;
  readonly #releases: Releases;
  readonly #unsent: UnsentReport;
  readonly #mayGoOn = (): boolean => this.#deps.recorder.pending() < maxUnrecorded;
  readonly #takeTurn = (lane: Lane): boolean => {
    const hasGone = this.#startOne(lane);
    if (hasGone) this.#offerTurn(lane);
    return hasGone;
  };
  #isStopping = false;
  #inFlight = 0;
  #ticker: NodeJS.Timeout | undefined;
  #tickedAtMs = 0;
  #claims: ClaimLoop | undefined;
  #onIdle: (() => void) | undefined;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#admission = deps.admission ?? new Admission(deps.maxInFlight);
    this.#admission.takePart(() => this.#pump());
    this.#paces = new Paces({
      ...deps,
      ready: (lane) => this.#paceAllows(lane),
      refused: (lane, untilMs) => this.#paceRefuses(lane, untilMs),
    });
    this.#lanes = new Lanes({
      admission: this.#admission,
      paces: this.#paces,
      targetConcurrency: deps.targetConcurrency,
    });
    this.#judge = createJudge(deps.timeoutMs);
    this.#releases = createReleases(deps.pool, deps.log);
    this.#unsent = createUnsentReport(deps.log);
    this.#checks = createTargetChecks({
      ...deps,
      apply: (lane, config, askedAtMs) => this.#applyConfig(lane, config, askedAtMs),
      applied: () => this.#pump(),
    });
  }

  start(): void {
    if (!this.#deps.enabled) return;
    this.#tickedAtMs = performance.now();
    this.#ticker = setInterval(() => this.#tick(), tickMs);
    const lanes = this.#lanes;
    this.#claims = createClaimLoop({
      pool: this.#deps.pool,
      log: this.#deps.log,
      metrics: this.#deps.metrics,
      traces: this.#deps.traces,
      newLease: () => this.newLease(),
      room: () => lanes.waitingRoom.room(),
      fullTargets: () => lanes.full(),
      targetsEnding: (count) => lanes.ending(count),
      choose: (due) => chooseDue(lanes, this.#admission, due),
      take: (deliveries) => {
        for (const lane of new Set(deliveries.map((delivery) => lanes.add(delivery)))) this.#offerTurn(lane);
        this.#pump();
      },
    });
    this.#claims.start();
  }

  /** Stops claiming, lets what is under way end within the attempt's timeout, and gives the rest back. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#checks.stop();
    this.#paces.stop();
    clearInterval(this.#ticker);
    await this.#claims?.stop();
    for (const lane of this.#lanes.all()) this.#releaseWaiting(lane);
    await this.#releases.flush();
    if (this.inFlight() > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.#releases.flush();
    await this.#paces.returnAll();
    await this.#deps.recorder.drained();
    this.#deps.recorder.stop();
    await this.#deps.circuits.stop();
  }

  newLease(): Lease {
    return { token: this.#deps.newToken(), durationMs: this.#deps.timeoutMs + lease.marginMs };
  }

  hasRoom(targetId: string): boolean {
    return this.#deps.enabled && !this.#isStopping && this.#lanes.hasRoom(targetId);
  }

  /** Targets of which no more may wait in memory now. */
  fullTargets(): string[] {
    return this.#lanes.full();
  }

  /** Takes an item that this node has just accepted, under the lease it was stored with. */
  take(item: NewItem, leased: LeasedItem): void {
    const delivery: Delivery = {
      eventId: item.id,
      rowId: leased.rowId,
      targetId: item.targetId,
      kind: leased.kind,
      attempts: 0,
      scheduleAttempts: 0,
      targetVersion: leased.targetVersion,
      payload: item.payload,
      eventType: item.eventType,
      correlationId: item.correlationId,
      sourceEventId: null,
      webhookId: null,
      traceContext: item.traceContext,
      span: null,
      leaseToken: leased.lease.token,
      leaseDeadlineMs: leased.lease.deadlineMs,
    };
    this.#startFrom(this.#lanes.add(delivery));
  }

  /** Something became due that this node does not hold; of one target, when it is named. */
  onDue(targetId?: string): void {
    const lane = targetId === undefined ? undefined : this.#lanes.find(targetId);
    if (lane !== undefined) lane.hasMoreDue = true;
    // What has no room now is claimed when it has some, or at the next poll.
    if (targetId === undefined || this.#lanes.hasRoom(targetId)) this.#claims?.wake();
  }

  inFlight(): number {
    return this.#inFlight;
  }

  inFlightUnproven(): number {
    return this.#lanes.inFlightUnproven();
  }

  inMemory(): number {
    return this.#lanes.waitingRoom.length;
  }

  openCircuits(): number {
    return this.#lanes.openCircuits();
  }

  #pump(): void {
    this.#lanes.turns.go(this.#mayGoOn, this.#takeTurn);
  }

  /** Starts what one lane can have, without a turn: no other lane waits for one. */
  #startFrom(lane: Lane): void {
    if (lane.isQueued) return;
    if (lane.org === undefined) {
      this.#checks.ask(lane);
      return;
    }
    while (this.#mayStart(lane) && this.#startOne(lane));
    this.#offerTurn(lane);
  }

  #mayStart(lane: Lane): boolean {
    return (
      isReady(lane, performance.now()) &&
      this.#mayGoOn() &&
      this.#admission.hasBudget(lane.standing) &&
      this.#admission.hasOrgBudget(lane.org!, lane.standing) &&
      lane.inFlight < this.#admission.targetShare()
    );
  }

  /** Lets the lane have its turn when it can take a request, and its target be looked up before. */
  #offerTurn(lane: Lane): void {
    if (lane.org === undefined && waiting(lane) > 0) this.#checks.ask(lane);
    else {
      this.#paces.want(lane);
      this.#lanes.queue(lane, performance.now());
    }
  }

  #paceAllows(lane: Lane): void {
    // What it may begin with may be in the database.
    if (waiting(lane) === 0) this.#claims?.wake();
    this.#offerTurn(lane);
    this.#pump();
  }

  /** The target is left alone for a while, and what waits is left to the other nodes. */
  #paceRefuses(lane: Lane, untilMs: number): void {
    lane.openUntilMs = Math.max(lane.openUntilMs, untilMs);
    this.#releaseWaiting(lane);
    void this.#releases.flush();
  }

  /** Starts the lane's next request, or gives back what it cannot send; false when it has to wait for something. */
  #startOne(lane: Lane): boolean {
    const nowMs = performance.now();
    const next = isReady(lane, nowMs) ? lane.queue[lane.head] : undefined;
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
      return true;
    }
    const delivery = this.#lanes.waitingRoom.take(lane)!;
    if (this.#isLate(delivery, nowMs)) {
      this.#releases.add(delivery);
      return true;
    }
    if (lane.inFlight === 0) lane.progressAtMs = nowMs;
    if (lane.pace !== undefined) begin(lane.pace, nowMs);
    this.#admission.started(lane);
    this.#inFlight++;
    const target = lane.config;
    const attemptedAtMs = Date.now();
    attempt(this.#deps, delivery, target, (result) =>
      this.#end(lane, { delivery, target, result, attemptedAtMs }),
    );
    return true;
  }

  #end(lane: Lane, { delivery, target, result, attemptedAtMs }: EndedAttempt): void {
    this.#admission.ended(lane);
    this.#inFlight--;
    if (result.verdict.outcome === "unsent") this.#takeBack(lane, delivery, result.verdict.error);
    else {
      this.#note(lane, result);
      this.#deps.finisher.finish(delivery, target, result, attemptedAtMs);
    }
    if (this.#lanes.turns.isEmpty() && !this.#admission.isShared()) this.#startFrom(lane);
    else {
      this.#offerTurn(lane);
      this.#admission.pumpAll();
    }
    this.#wantMore(lane);
    if (this.inFlight() === 0) this.#onIdle?.();
  }

  #note(lane: Lane, result: AttemptResult): void {
    const nowMs = performance.now();
    const wasTripped = isTripped(lane);
    this.#lanes.move(lane, this.#judge.ended(lane, result, nowMs));
    if (wasTripped && !isTripped(lane)) this.#deps.circuits.closed(lane.targetId);
    if (!isCircuitOpen(lane, nowMs)) return;
    this.#deps.circuits.opened(lane.targetId, lane.openUntilMs - nowMs);
    this.#releaseWaiting(lane);
  }

  /** Nothing was sent, and the receiver is not to blame: no attempt, and no failure of the target. */
  #takeBack(lane: Lane, delivery: Delivery, why: string): void {
    this.#unsent.note(why);
    delivery.span?.end({ attributes: { "postrider.outcome": "unsent" }, error: "unsent" });
    this.#releases.add(delivery);
    this.#releaseWaiting(lane);
    hold(lane, performance.now() + unsentPauseMs);
  }

  /** Has more claimed when the lane has room for what was left. */
  #wantMore(lane: Lane): void {
    if (this.#claims === undefined || isUnproven(lane.standing)) return;
    if (!lane.hasMoreDue && !this.#claims.wantsRoom(lane.targetId)) return;
    if (!this.#lanes.waitingRoom.hasRoom(lane, performance.now())) return;
    if (lane.hasMoreDue) this.#claims.wake();
    lane.hasMoreDue = false;
    this.#claims.roomAppeared(lane.targetId);
  }

  /** Gives back what waits for a deleted or disabled target: the claim cancels it or leaves it held. */
  #applyConfig(lane: Lane, config: TargetConfig | undefined, askedAtMs: number): void {
    this.#lanes.configure(lane, config, askedAtMs);
    if (config === undefined || !config.enabled) this.#releaseWaiting(lane);
    else this.#offerTurn(lane);
  }

  #releaseWaiting(lane: Lane): void {
    for (const delivery of this.#lanes.removeAll(lane)) this.#releases.add(delivery);
  }

  /** Whether an attempt that starts now might outlive the lease. */
  #isLate(delivery: Delivery, nowMs: number): boolean {
    return delivery.leaseDeadlineMs - nowMs < this.#deps.timeoutMs + lease.reserveMs;
  }

  #tick(): void {
    const nowMs = performance.now();
    // After a pause of this process itself (SIGSTOP, a starved event loop) silence says nothing about the targets.
    const wasAway = nowMs - this.#tickedAtMs > 2 * tickMs;
    this.#tickedAtMs = nowMs;
    for (const lane of this.#lanes.all()) {
      lane.previous = lane.recent;
      lane.recent = 0;
      if (wasAway) lane.progressAtMs = Math.max(lane.progressAtMs, nowMs - tickMs);
      if (this.#judge.isStalled(lane, nowMs)) this.#stall(lane);
      this.#lanes.doubt(lane, nowMs);
      this.#giveBackLate(lane, nowMs);
      for (const delivery of this.#lanes.removeSurplus(lane)) this.#releases.add(delivery);
      this.#paces.trim(lane);
      this.#offerTurn(lane);
      if (isEmpty(lane) && lane.previous === 0 && lane.openUntilMs < nowMs - 60_000) this.#lanes.forget(lane);
    }
    void this.#releases.flush();
    this.#pump();
  }

  /** What is under way counts as hanging from now on, and what waits behind it goes back. */
  #stall(lane: Lane): void {
    this.#lanes.move(lane, "hanging");
    this.#releaseWaiting(lane);
  }

  /** Gives back what has waited too long for its turn, so that another node may send it. */
  #giveBackLate(lane: Lane, nowMs: number): void {
    for (let next = lane.queue[lane.head]; next !== undefined && this.#isLate(next, nowMs);) {
      this.#releases.add(this.#lanes.waitingRoom.take(lane)!);
      next = lane.queue[lane.head];
    }
    if (waiting(lane) === 0) this.#lanes.turns.remove(lane);
  }
}
