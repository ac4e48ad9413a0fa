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
  /** Quiet mode of the process; a claim that returns deliveries ends it. */
  quiet: Quiet;
  /** Records which circuits this process has open. */
  circuits: OpenCircuits;
  /** Whether this process dispatches at all. If not, it leaves all items in the database for other nodes. */
  enabled: boolean;
  /** The time limit of a whole attempt. */
  timeoutMs: number;
  /** Maximum number of requests in flight to one target. */
  targetConcurrency: number;
  /** Maximum number of requests in flight in total. */
  maxInFlight: number;
  /** Shared by the dispatchers of several cells. If absent, the dispatcher creates its own. */
  admission?: Admission | undefined;
  /** Id of this dispatcher, unique among all dispatchers that share the database. */
  nodeId: string;
  /** Returns a random integer below 2^53 for a lease token. */
  newToken: () => number;
}

/**
 * A lease lasts as long as an attempt may take, plus the margin. The margin limits how long an item may wait in memory. At least
 * the reserve must remain when the attempt starts.
 */
const lease = { marginMs: 10_000, reserveMs: 2_000 };
/** Interval of the timer that looks for silent targets, late deliveries and idle lanes. */
const periodMs = 500;
/** Number of attempts that may wait to be recorded; at this number, no new attempts start. */
const maxUnrecorded = 4_096;
/** How long to pause a target after this process lacked a resource (such as file descriptors) to send to it. */
const unsentPauseMs = 500;

/**
 * Delivers items. Items that this node accepted come from memory; all other items are claimed from the database. Each target has
 * its own lane, so that no target delays another. README.md describes the protocol: what each component may write, what wakes
 * each component, and where each bound applies.
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
      found: (lane, config) => this.#configure(lane, config),
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

  /** Stops claiming, waits until running attempts end (at most the attempt's timeout), and releases all waiting deliveries. */
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

  /** How many more items of publications may wait in memory. */
  roomForPublications(): number {
    return this.#deps.enabled && !this.#isStopping ? this.#lanes.deps.buffer.roomForPublications() : 0;
  }

  /** Targets for which no more deliveries may wait in memory now. */
  fullTargets(): string[] {
    return this.#lanes.full();
  }

  /** Queues an item that this node has just accepted, under the lease with which its row was inserted. */
  take(item: NewItem, leased: LeasedItem): void {
    const lane = this.#lanes.open(item.targetId);
    lane.put(acceptedDelivery(item, leased));
    this.#startLane(lane);
  }

  /** Called when an item became due that this node does not hold. `targetId` is given when the item's target is known. */
  onDue(targetId?: string): void {
    if (targetId !== undefined) this.#lanes.find(targetId)?.noteMoreDue(true);
    // If there is no room for the item now, it is claimed when room appears, or at the next poll.
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
   * Makes one attempt from start to end: admit → send → classify → schedule → record → next. The delivery was put into its lane
   * by {@link take} or by the claim loop. The caller must have checked that the budgets allow one more request.
   * @returns true when a request was started or deliveries were released; false when the lane must wait.
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
        // Schedules a retry if one is due, and records the attempt by group commit.
        finishAttempt(this.#deps, { delivery, target, result, attemptedAtMs });
      }
      this.#startNext(lane);
    });
    return true;
  }

  /** Updates the lane's window, circuit breaker and reputation from the result of a request. */
  #learn(lane: Lane, result: AttemptResult): void {
    const nowMs = performance.now();
    const circuit = lane.noteResult(result, nowMs);
    if (circuit === "closed") this.#deps.circuits.closed(lane.targetId);
    if (circuit !== "open") return;
    this.#deps.circuits.opened(lane.targetId, lane.closedUntilMs - nowMs);
    this.#releases.add(lane.takeAll());
  }

  /**
   * Releases a delivery that was not sent for a reason within this process. This counts neither as an attempt nor as a failure
   * of the target.
   */
  #takeBack(lane: Lane, delivery: Delivery, why: string): void {
    delivery.span?.end({ attributes: { "postrider.outcome": "unsent" }, error: "unsent" });
    this.#releases.addUnsent(delivery, why);
    this.#releases.add(lane.takeAll());
    lane.pause(performance.now() + unsentPauseMs);
  }

  /**
   * Called after a request has ended: starts the lane's next request, unless other lanes wait, and claims more if the lane has
   * room.
   */
  #startNext(lane: Lane): void {
    if (this.#ready.isEmpty() && !this.#admission.isShared()) this.#startLane(lane);
    else {
      this.#queue(lane);
      this.#admission.startReady();
    }
    this.#claimMore(lane);
    if (this.#inFlight === 0) this.#onIdle?.();
  }

  /** Starts as many requests of one lane as the budgets allow, without the ready queue. Only valid while no other lane waits. */
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

  /**
   * Puts the lane into the ready queue if it can start a request. Otherwise requests its configuration or permits if they are
   * missing.
   */
  #queue(lane: Lane): void {
    if (lane.org === undefined) {
      if (lane.waiting > 0) this.#lookups.ask(lane);
      return;
    }
    this.#permits.want(lane);
    lane.enterQueueIfReady(performance.now());
  }

  /**
   * Wakes the claim loop if the last claim left items of this target in the database because memory was full, and the lane has
   * room again.
   */
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

  /** Called when a lane's target was loaded: releases the waiting deliveries if the target is deleted or disabled. */
  #configure(lane: Lane, config: TargetConfig | undefined): void {
    // The lane was closed while its target was loaded.
    if (this.#lanes.find(lane.targetId) !== lane) return;
    const { limiter } = lane;
    lane.configure(config);
    if (limiter !== undefined && lane.limiter === undefined) this.#permits.close(limiter);
    // The next claim cancels the items of a deleted target, and leaves those of a disabled target held.
    if (config === undefined || !config.enabled) this.#releases.add(lane.takeAll());
    else this.#queue(lane);
  }

  #onPermit(lane: Lane): void {
    // The next delivery of the lane may still be in the database.
    if (lane.waiting === 0) this.#claims.wake();
    this.#queue(lane);
    this.#startReady();
  }

  /** The owner's limit permits no attempt for now: releases the waiting deliveries, so that other nodes may send them. */
  #onNoPermit(lane: Lane, untilMs: number): void {
    lane.waitForPermit(untilMs);
    this.#releases.add(lane.takeAll());
    void this.#releases.flush();
  }

  /** Checks for conditions that cause no event: silent targets, deliveries that wait too long, idle lanes. */
  #beginPeriod(): void {
    const nowMs = performance.now();
    // If this process itself was suspended (SIGSTOP, a blocked event loop), silence says nothing about the targets.
    const wasAway = nowMs - this.#periodBeganAtMs > 2 * periodMs;
    this.#periodBeganAtMs = nowMs;
    const isLate = (delivery: Delivery): boolean => this.#isLate(delivery, nowMs);
    for (const lane of this.#lanes.all()) {
      lane.beginPeriod(nowMs, periodMs, wasAway);
      if (lane.noteStall(nowMs)) this.#releases.add(lane.takeAll());
      lane.noteSilence(nowMs);
      // Released, so that another node may send it.
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

  /** Whether an attempt that starts now could run longer than the lease. */
  #isLate(delivery: Delivery, nowMs: number): boolean {
    return delivery.leaseDeadlineMs - nowMs < this.#deps.timeoutMs + lease.reserveMs;
  }
}
