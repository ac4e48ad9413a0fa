import type pg from "pg";
import { acceptedDelivery, type AttemptResult, type Delivery } from "../../items/delivery.ts";
import type { Lease, LeasedItem, NewItem } from "../../items/item.ts";
import type { SecretBox } from "../../items/secretBox.ts";
import type { Quiet } from "../../runtime/quiet.ts";
import type { TargetConfig } from "../../targets/record/targetConfig.ts";
import type { DeliveryGauges, DeliveryMetrics } from "../../telemetry/deliveryMetrics.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Traces } from "../../telemetry/traces.ts";
import { finishAttempt, type FinishDeps } from "../attempt/finishAttempt.ts";
import type { Senders } from "../../targets/record/kind.ts";
import { sendAttempt } from "../attempt/sendAttempt.ts";
import { createReleases, type Releases } from "../rows/releases.ts";
import { Admission } from "./admission.ts";
import { DeliveryBuffer } from "./buffer.ts";
import { ClaimLoop } from "./claimLoop.ts";
import { chooseDue } from "./claimPlan.ts";
import type { Lane } from "./lane.ts";
import { Lanes, TargetLookups } from "./lanes.ts";
import type { OpenCircuits } from "../rows/openCircuits.ts";
import { PermitClient } from "./permitClient.ts";
import { ReadyQueue } from "./readyQueue.ts";
import { isUnproven, promptLimitMs } from "./reputation.ts";

export interface DispatcherDeps extends FinishDeps {
  pool: pg.Pool;
  box: SecretBox;
  log: Log;
  metrics: DeliveryMetrics;
  traces?: Traces | undefined;
  senders: Senders;
  /** Ended by claims that bring something. */
  quiet: Quiet;
  /** Written when circuits open and close. */
  circuits: OpenCircuits;
  /** Whether this process dispatches at all; when not, everything is left to the nodes that do. */
  enabled: boolean;
  /** The time limit of a whole attempt. */
  timeoutMs: number;
  /** Requests under way to one target. */
  targetConcurrency: number;
  /** Requests under way in all. */
  maxInFlight: number;
  /** Shared by the dispatchers of several cells; a dispatcher has its own unless told. */
  admission?: Admission | undefined;
  /** Names this dispatcher among all that share the database, as an id. */
  nodeId: string;
  /** A whole random number below 2^53, for lease tokens. */
  newToken: () => number;
}

/**
 * A lease outlives an attempt by the margin, which is how long an item may wait in memory; the reserve of it must be left
 * when the attempt starts.
 */
const lease = { marginMs: 10_000, reserveMs: 2_000 };
/** The period in which silent targets, late deliveries and idle lanes are looked for. */
const periodMs = 500;
/** Attempts that may wait to be recorded before no more are started. */
const maxUnrecorded = 4_096;
/** How long a target is left alone after this process lacked resources to send to it (such as file descriptors). */
const unsentPauseMs = 500;

/**
 * Delivers: items that this node accepted come from memory, all others are claimed. One lane per target keeps the targets
 * apart, so that none delays another. README.md has the protocol: who may write what, what wakes whom, which bound holds
 * where.
 */
export class Dispatcher implements DeliveryGauges {
  readonly #deps: DispatcherDeps;
  readonly #admission: Admission;
  readonly #buffer = new DeliveryBuffer();
  readonly #ready: ReadyQueue;
  readonly #lanes: Lanes;
  readonly #permits: PermitClient;
  readonly #lookups: TargetLookups;
  readonly #releases: Releases;
  readonly #claims: ClaimLoop;
  readonly #mayStartMore = (): boolean => this.#deps.recorder.pending() < maxUnrecorded;
  readonly #startOne = (lane: Lane): boolean => {
    const hasStarted = this.#startAttempt(lane);
    if (hasStarted) this.#queue(lane);
    return hasStarted;
  };
  #isRunning = false;
  #isStopping = false;
  #inFlight = 0;
  #timer: NodeJS.Timeout | undefined;
  #periodBeganAtMs = 0;
  #onIdle: (() => void) | undefined;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    const { pool, log, targetConcurrency, timeoutMs } = deps;
    this.#admission = deps.admission ?? new Admission(deps.maxInFlight);
    this.#admission.addDispatcher(() => this.#startReady());
    this.#ready = new ReadyQueue(this.#admission);
    this.#lanes = new Lanes({
      admission: this.#admission,
      buffer: this.#buffer,
      ready: this.#ready,
      targetConcurrency,
      promptMs: promptLimitMs(timeoutMs),
    });
    this.#permits = new PermitClient({
      ...deps,
      ready: (lane) => this.#onPermit(lane),
      refused: (lane, untilMs) => this.#onNoPermit(lane, untilMs),
    });
    this.#lookups = new TargetLookups({
      ...deps,
      found: (lane, config, askedAtMs) => this.#configure(lane, config, askedAtMs),
      answered: () => this.#startReady(),
    });
    this.#releases = createReleases(pool, log);
    this.#claims = this.#createClaims();
  }

  start(): void {
    if (!this.#deps.enabled) return;
    this.#isRunning = true;
    this.#periodBeganAtMs = performance.now();
    this.#timer = setInterval(() => this.#beginPeriod(), periodMs);
    this.#claims.start();
  }

  /** Stops claiming, lets what is under way end within the attempt's timeout, and gives the rest back. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#lookups.stop();
    this.#permits.stop();
    clearInterval(this.#timer);
    await this.#claims.stop();
    for (const lane of this.#lanes.all()) this.#releases.add(lane.takeAll());
    await this.#releases.flush();
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.#releases.flush();
    await this.#permits.returnAll();
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
    const lane = this.#lanes.open(item.targetId);
    lane.put(acceptedDelivery(item, leased));
    this.#startLane(lane);
  }

  /** Something became due that this node does not hold; of one target, when it is named. */
  onDue(targetId?: string): void {
    if (targetId !== undefined) this.#lanes.find(targetId)?.noteMoreDue(true);
    // An item without room now is claimed when there is some, or at the next poll.
    if (targetId === undefined || this.#lanes.hasRoom(targetId)) this.#claims.wake();
  }

  inFlight(): number {
    return this.#inFlight;
  }

  inFlightUnproven(): number {
    return this.#lanes.inFlightUnproven();
  }

  inMemory(): number {
    return this.#buffer.length;
  }

  openCircuits(): number {
    return this.#lanes.openCircuits();
  }

  /**
   * One attempt from start to end: admit → send → classify → schedule → record → next. The delivery was put into its lane by
   * {@link take} or by the claim loop; that the budgets allow one more request is the caller's to know.
   * @returns false when the lane has to wait for something; true when a request was started, or deliveries were given back.
   */
  #startAttempt(lane: Lane): boolean {
    const nowMs = performance.now();
    const { next } = lane;
    if (next === undefined || !lane.isReady(nowMs)) return false;
    const target = lane.config;
    if (target === undefined || !lane.isConfigured(next.targetVersion, nowMs)) {
      this.#lookups.ask(lane);
      return false;
    }
    if (!target.enabled) {
      this.#releases.add(lane.takeAll());
      return true;
    }
    const delivery = lane.take()!;
    if (this.#isLate(delivery, nowMs)) {
      this.#releases.add([delivery]);
      return true;
    }
    lane.begin(nowMs);
    this.#inFlight++;
    const attemptedAtMs = Date.now();
    // The sender signs, sends, and classifies the answer: `result.outcome`.
    sendAttempt(this.#deps, delivery, target, (result) => {
      lane.end();
      this.#inFlight--;
      if (result.outcome.kind === "unsent") this.#takeBack(lane, delivery, result.outcome.error);
      else {
        this.#learn(lane, result);
        // Schedules a retry, or none, and records the attempt by group commit.
        finishAttempt(this.#deps, { delivery, target, result, attemptedAtMs });
      }
      this.#startNext(lane);
    });
    return true;
  }

  /** The lane's window, circuit breaker and reputation follow from how its requests end. */
  #learn(lane: Lane, result: AttemptResult): void {
    const nowMs = performance.now();
    const circuit = lane.noteResult(result, nowMs);
    if (circuit === "closed") this.#deps.circuits.closed(lane.targetId);
    if (circuit !== "open") return;
    this.#deps.circuits.opened(lane.targetId, lane.closedUntilMs - nowMs);
    this.#releases.add(lane.takeAll());
  }

  /** Nothing was sent, and the receiver is not to blame: no attempt, and no failure of the target. */
  #takeBack(lane: Lane, delivery: Delivery, why: string): void {
    delivery.span?.end({ attributes: { "postrider.outcome": "unsent" }, error: "unsent" });
    this.#releases.addUnsent(delivery, why);
    this.#releases.add(lane.takeAll());
    lane.pause(performance.now() + unsentPauseMs);
  }

  /** One more request may start: the lane's next, unless other lanes wait; and more is claimed when the lane has room. */
  #startNext(lane: Lane): void {
    if (this.#ready.isEmpty() && !this.#admission.isShared()) this.#startLane(lane);
    else {
      this.#queue(lane);
      this.#admission.startReady();
    }
    this.#claimMore(lane);
    if (this.#inFlight === 0) this.#onIdle?.();
  }

  /** Starts as many requests of one lane as it can have, ahead of the ready queue: no other lane waits. */
  #startLane(lane: Lane): void {
    if (lane.isInReadyQueue) return;
    const { org } = lane;
    if (org === undefined) {
      this.#lookups.ask(lane);
      return;
    }
    while (
      lane.isReady(performance.now()) &&
      this.#mayStartMore() &&
      this.#admission.hasBudget(lane.reputation) &&
      this.#admission.hasOrgBudget(org, lane.reputation) &&
      lane.inFlight < this.#admission.targetShare() &&
      this.#startAttempt(lane)
    );
    this.#queue(lane);
  }

  /** Starts as many requests of the lanes in the ready queue as the budgets allow. */
  #startReady(): void {
    this.#ready.run(this.#mayStartMore, this.#startOne);
  }

  /** Puts the lane into the ready queue when it can take a request, and asks for what it lacks. */
  #queue(lane: Lane): void {
    if (lane.org === undefined) {
      if (lane.waiting > 0) this.#lookups.ask(lane);
      return;
    }
    this.#permits.want(lane);
    lane.enterQueueIfReady(performance.now());
  }

  /** Wakes the claim loop when it left something of this target for want of room, and the lane has room again. */
  #claimMore(lane: Lane): void {
    if (!this.#isRunning || isUnproven(lane.reputation)) return;
    if (!lane.hasMoreDue && !this.#claims.wantsRoom(lane.targetId)) return;
    if (!this.#buffer.hasRoom(lane, performance.now())) return;
    if (lane.hasMoreDue) this.#claims.wake();
    lane.noteMoreDue(false);
    this.#claims.roomAppeared(lane.targetId);
  }

  #createClaims(): ClaimLoop {
    const { pool, log, metrics, traces, quiet } = this.#deps;
    const lanes = this.#lanes;
    return new ClaimLoop({
      pool,
      log,
      metrics,
      traces,
      quiet,
      newLease: () => this.newLease(),
      room: () => this.#buffer.room(),
      fullTargets: () => lanes.full(),
      targetsEnding: (count) => lanes.ending(count),
      choose: (due) => chooseDue(lanes, due),
      take: (deliveries) => {
        const claimed = new Set<Lane>();
        for (const delivery of deliveries) {
          const lane = lanes.open(delivery.targetId);
          lane.put(delivery);
          claimed.add(lane);
        }
        for (const lane of claimed) this.#queue(lane);
        this.#startReady();
      },
    });
  }

  /** A lane's target was read: gives back what waits for a deleted or disabled one. */
  #configure(lane: Lane, config: TargetConfig | undefined, askedAtMs: number): void {
    // Forgotten while its target was looked up.
    if (this.#lanes.find(lane.targetId) !== lane) return;
    const { limiter } = lane;
    lane.configure(config, askedAtMs);
    if (limiter !== undefined && lane.limiter === undefined) this.#permits.close(limiter);
    // The next claim cancels what waits for a deleted target, or leaves it held for a disabled one.
    if (config === undefined || !config.enabled) this.#releases.add(lane.takeAll());
    else this.#queue(lane);
  }

  #onPermit(lane: Lane): void {
    // The delivery that may be sent now may be in the database.
    if (lane.waiting === 0) this.#claims.wake();
    this.#queue(lane);
    this.#startReady();
  }

  /** The owner's limit allows nothing for a while: other nodes may send what waits here. */
  #onNoPermit(lane: Lane, untilMs: number): void {
    lane.waitForPermit(untilMs);
    this.#releases.add(lane.takeAll());
    void this.#releases.flush();
  }

  /** Notices what causes no event: targets that are silent, deliveries that wait too long, lanes that are idle. */
  #beginPeriod(): void {
    const nowMs = performance.now();
    // After a pause of this process itself (SIGSTOP, a starved event loop) silence says nothing about the targets.
    const wasAway = nowMs - this.#periodBeganAtMs > 2 * periodMs;
    this.#periodBeganAtMs = nowMs;
    const isLate = (delivery: Delivery): boolean => this.#isLate(delivery, nowMs);
    for (const lane of this.#lanes.all()) {
      lane.beginPeriod(nowMs, periodMs, wasAway);
      if (lane.noteStall(nowMs)) this.#releases.add(lane.takeAll());
      lane.noteSilence(nowMs);
      // So that another node may send it.
      this.#releases.add(lane.takeLate(isLate));
      this.#releases.add(lane.takeSurplus());
      this.#permits.trim(lane);
      this.#queue(lane);
      if (lane.isIdle(nowMs)) this.#forget(lane);
    }
    void this.#releases.flush();
    this.#startReady();
  }

  #forget(lane: Lane): void {
    const { limiter } = lane;
    this.#lanes.forget(lane);
    if (limiter !== undefined) this.#permits.close(limiter);
  }

  /** Whether an attempt that starts now might outlive the lease. */
  #isLate(delivery: Delivery, nowMs: number): boolean {
    return delivery.leaseDeadlineMs - nowMs < this.#deps.timeoutMs + lease.reserveMs;
  }
}
