import type { AttemptResult, Delivery } from "../../items/delivery.ts";
import type { TargetConfig } from "../../targets/record/targetConfig.ts";
import type { Admission, OrgLoad } from "./admission.ts";
import { type DeliveryBuffer, DeliveryQueue } from "./buffer.ts";
import { Limiter } from "./limiter.ts";
import type { ReadyQueue } from "./readyQueue.ts";
import { isTimeout, isUnproven, type Reputation, Responsiveness } from "./reputation.ts";
import { Window } from "./window.ts";

/** Number of deliveries read ahead for one target: at least max(8, 4 × window), at most 1,024. */
const minAhead = 8;
const windowsAhead = 4;
const maxAhead = 1_024;
/** For a target with a rate limit, memory keeps the deliveries that may be sent in this many seconds. */
const keptSeconds = 2;
/**
 * A configuration older than this is loaded again before use, unless an acceptance or a claim has confirmed it since. During
 * this time, an item in memory may miss that its target was deleted, disabled or changed.
 */
const configAgeLimitMs = 200;
/** How long an idle lane is kept after its circuit has closed. */
const circuitMemoryMs = 60_000;

/** The counters and the queue that all lanes of a dispatcher share. */
export interface LaneDeps {
  admission: Admission;
  buffer: DeliveryBuffer;
  ready: ReadyQueue;
  /** Maximum number of requests in flight to one target, unless its owner has set a lower limit. */
  targetConcurrency: number;
  /** The longest duration of an exchange that still counts as prompt. */
  promptMs: number;
}

/**
 * The state of one target in this dispatcher: the deliveries that wait in memory, the requests in flight, and how many requests
 * the target can take.
 *
 * Only the methods below write a lane's fields. Each method that changes the waiting deliveries or the requests in flight also
 * counts them in the shared `admission` and `buffer`. README.md describes the protocol. Times are on the monotonic clock.
 */
export class Lane {
  readonly targetId: string;
  readonly #deps: LaneDeps;
  readonly #window: Window;
  readonly #responsiveness: Responsiveness;
  readonly #queue = new DeliveryQueue();
  #inFlight = 0;
  #reputation: Reputation;
  #org: OrgLoad | undefined;
  #config: TargetConfig | undefined;
  /** When `#config` was last confirmed to be current. */
  #checkedAtMs = 0;
  #limiter: Limiter | undefined;
  #isInReadyQueue = false;
  #hasMoreDue = false;
  /** Numbers of attempts that ended in the current and in the previous accounting period. */
  #recent = 0;
  #previous = 0;

  constructor(targetId: string, reputation: Reputation, deps: LaneDeps) {
    this.targetId = targetId;
    this.#reputation = reputation;
    this.#deps = deps;
    this.#window = new Window(deps.targetConcurrency);
    this.#responsiveness = new Responsiveness(deps.promptMs);
  }

  get reputation(): Reputation {
    return this.#reputation;
  }

  /** Undefined until the target's configuration is loaded. */
  get org(): OrgLoad | undefined {
    return this.#org;
  }

  get config(): TargetConfig | undefined {
    return this.#config;
  }

  /** Undefined unless the target's owner has set a limit. */
  get limiter(): Limiter | undefined {
    return this.#limiter;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Number of deliveries that wait in memory. */
  get waiting(): number {
    return this.#queue.length;
  }

  get isInReadyQueue(): boolean {
    return this.#isInReadyQueue;
  }

  /** Whether the last claim left due items of the target in the database because the memory bound was reached. */
  get hasMoreDue(): boolean {
    return this.#hasMoreDue;
  }

  /** No request starts before this time, because the circuit is open or the lane is paused. */
  get closedUntilMs(): number {
    return this.#window.closedUntilMs;
  }

  isEmpty(): boolean {
    return this.waiting === 0 && this.#inFlight === 0;
  }

  /** Adds a delivery to the end of the queue. If its target version is the known one, it confirms the configuration. */
  put(delivery: Delivery): void {
    this.#push(delivery);
    if (this.#config?.version === delivery.targetVersion) this.#checkedAtMs = performance.now();
  }

  /** The delivery that {@link take} returns next. */
  get next(): Delivery | undefined {
    return this.#queue.next;
  }

  /** Removes and returns the next delivery. */
  take(): Delivery | undefined {
    const delivery = this.#queue.take();
    if (delivery !== undefined) this.#countWaiting(-1, -delivery.payload.length);
    return delivery;
  }

  /** Removes and returns all deliveries. */
  takeAll(): Delivery[] {
    if (this.waiting === 0) return [];
    this.leaveQueue();
    return this.#takeAll();
  }

  /** Removes and returns the deliveries that have waited too long to be sent. */
  takeLate(isLate: (delivery: Delivery) => boolean): Delivery[] {
    const late: Delivery[] = [];
    while (this.next !== undefined && isLate(this.next)) late.push(this.take()!);
    if (this.waiting === 0) this.leaveQueue();
    return late;
  }

  /** Removes and returns the deliveries that the owner's rate limit does not let this node send in the next seconds. */
  takeSurplus(): Delivery[] {
    const perSecond = this.#limiter?.limits.perSecond ?? null;
    const kept = perSecond === null ? this.waiting : Math.ceil(perSecond * keptSeconds);
    if (this.waiting <= kept) return [];
    const all = this.#takeAll();
    for (const delivery of all.splice(0, kept)) this.#push(delivery);
    return all;
  }

  /**
   * Whether more deliveries should be read into memory. The limit grows with the number of attempts that ended in a recent
   * period: a fast target never runs out of deliveries between two claims, and a slow target never holds deliveries that another
   * node could send.
   * @param maxDeliveries The maximum number of the target's deliveries in memory; `maxBytes` is their maximum size.
   */
  wantsMore(maxDeliveries: number, maxBytes: number): boolean {
    const count = this.waiting;
    if (count === 0) return true;
    const perSecond = this.#limiter?.limits.perSecond;
    // A claim brings at most the deliveries of one second.
    if (typeof perSecond === "number" && count >= perSecond / 2) return false;
    const wanted =
      Math.max(minAhead, this.#window.size * windowsAhead) + Math.max(this.#recent, this.#previous);
    return count < Math.min(maxAhead, wanted, maxDeliveries) && this.#queue.bytes < maxBytes;
  }

  /** Records whether the database has more due items of the target than were claimed. */
  noteMoreDue(hasMoreDue: boolean): void {
    this.#hasMoreDue = hasMoreDue;
  }

  /** Stores the target's configuration as just read; undefined if the target was deleted. */
  configure(config: TargetConfig | undefined): void {
    this.#config = config;
    // From the answer on, not from the question: otherwise a database that needs longer than the limit would stop all attempts.
    this.#checkedAtMs = performance.now();
    if (config === undefined) return;
    this.#setLimits(config);
    if (this.#org !== undefined) return;
    this.#recount(() => (this.#org = this.#deps.admission.enterOrg(config.orgId)));
    // The target's last attempt on any node failed.
    if (this.#reputation === "untried" && config.failingSince !== null) this.#setReputation("hanging");
  }

  /** Whether the configuration is recent enough for a delivery that was accepted or claimed at this version of the target. */
  isConfigured(version: number, nowMs: number): boolean {
    return (
      this.#config !== undefined &&
      this.#config.version >= version &&
      nowMs - this.#checkedAtMs <= configAgeLimitMs
    );
  }

  /** Closes the lane: removes its limiter and its reference to the organization. */
  close(): void {
    this.#limiter = undefined;
    if (this.#org !== undefined) this.#deps.admission.leaveOrg(this.#org);
  }

  /** Whether the target could take one more request now, regardless of budgets and other lanes. */
  isReady(nowMs: number): boolean {
    return (
      this.isOpen(nowMs) && (this.#limiter === undefined || this.#limiter.mayBegin(this.#inFlight, nowMs))
    );
  }

  /** Whether the target could take one more request now if its owner had set no limits. */
  isOpen(nowMs: number): boolean {
    return this.waiting > 0 && this.#window.admits(this.#inFlight, nowMs);
  }

  /** Whether no request may start now, because the circuit is open or the lane is paused. */
  isClosed(nowMs: number): boolean {
    return this.#window.closedUntilMs > nowMs;
  }

  /** Whether the circuit breaker blocks requests to the target now. */
  isCircuitOpen(nowMs: number): boolean {
    return this.#window.isCircuitOpen(nowMs);
  }

  /** Enters the ready queue if the target can take a request. */
  enterQueueIfReady(nowMs: number): void {
    if (!this.#isInReadyQueue && this.#org !== undefined && this.isReady(nowMs)) this.enterQueue();
  }

  enterQueue(): void {
    if (this.#isInReadyQueue || this.#org === undefined) return;
    this.#isInReadyQueue = true;
    this.#deps.ready.push(this, this.#org);
  }

  leaveQueue(): void {
    if (!this.#isInReadyQueue) return;
    this.#isInReadyQueue = false;
    this.#deps.ready.remove(this, this.#org!);
  }

  /** Called by the ready queue after it has removed the lane. */
  leftQueue(): void {
    this.#isInReadyQueue = false;
  }

  /** Called when a request begins. */
  begin(nowMs: number): void {
    if (this.#inFlight === 0) this.#responsiveness.noteProgress(nowMs);
    this.#limiter?.begin(nowMs);
    this.#inFlight++;
    this.#deps.admission.count(this.#reputation, this.#org, 1);
  }

  /** Called when a request has ended. {@link noteResult} follows, unless nothing was sent. */
  end(): void {
    this.#inFlight--;
    this.#deps.admission.count(this.#reputation, this.#org, -1);
  }

  /**
   * Updates the window and the target's reputation from the result of a request.
   * @returns "open" if the circuit is open now, "closed" if it has just closed.
   */
  noteResult(result: AttemptResult, nowMs: number): "open" | "closed" | undefined {
    const { outcome } = result;
    const wasTripped = this.#window.isTripped();
    this.#recent++;
    if (outcome.kind === "delivered") this.#window.noteSuccess();
    else {
      const slowDown = outcome.kind === "retry" && outcome.slowDown;
      this.#window.noteFailure(slowDown, isTimeout(result, this.#deps.promptMs), nowMs);
    }
    this.#setReputation(this.#responsiveness.noteResult(result, nowMs));
    if (this.#window.isCircuitOpen(nowMs)) return "open";
    return wasTripped && !this.#window.isTripped() ? "closed" : undefined;
  }

  /** Starts no request before `untilMs` and halves the window; does not count as a failure. */
  pause(untilMs: number): void {
    this.#window.pause(untilMs);
  }

  /** Starts no request before `untilMs`, because the owner's limit does not permit one. */
  waitForPermit(untilMs: number): void {
    this.#window.closeUntil(untilMs);
  }

  /**
   * Begins an accounting period of `periodMs`. @param wasAway Whether this process was suspended, so that silence does not
   * count.
   */
  beginPeriod(nowMs: number, periodMs: number, wasAway: boolean): void {
    this.#previous = this.#recent;
    this.#recent = 0;
    if (wasAway) this.#responsiveness.noteProgress(nowMs - periodMs);
  }

  /** Whether at least `count` attempts ended in the current or in the previous period. */
  hasEnded(count: number): boolean {
    return this.#recent >= count || this.#previous >= count;
  }

  /** Marks the target as hanging if its requests in flight had no result for too long. @returns whether it was marked now. */
  noteStall(nowMs: number): boolean {
    if (this.#inFlight === 0 || this.#reputation === "hanging") return false;
    if (!this.#responsiveness.isStalled(this.#reputation, nowMs)) return false;
    this.#setReputation("hanging");
    return true;
  }

  /** Marks a target that has not answered recently as untried again, while more requests hang than their budget allows. */
  noteSilence(nowMs: number): void {
    if (isUnproven(this.#reputation) || !this.#deps.admission.isStrained()) return;
    if (this.#inFlight === 0 && this.#responsiveness.isSilent(nowMs)) this.#setReputation("untried");
  }

  /** Whether the lane can be removed. */
  isIdle(nowMs: number): boolean {
    return this.isEmpty() && this.#previous === 0 && this.closedUntilMs < nowMs - circuitMemoryMs;
  }

  #push(delivery: Delivery): void {
    this.#queue.push(delivery);
    this.#countWaiting(1, delivery.payload.length);
  }

  #takeAll(): Delivery[] {
    this.#countWaiting(-this.waiting, -this.#queue.bytes);
    return this.#queue.takeAll();
  }

  #countWaiting(deliveries: number, bytes: number): void {
    this.#deps.buffer.count(this.#reputation, this.#org, deliveries, bytes);
  }

  #setReputation(reputation: Reputation): void {
    if (this.#reputation === reputation) return;
    // Each reputation has a queue of its own.
    this.leaveQueue();
    this.#recount(() => (this.#reputation = reputation));
  }

  /** Moves the waiting deliveries and the requests in flight from one budget to another. */
  #recount(change: () => void): void {
    const { admission, buffer } = this.#deps;
    admission.count(this.#reputation, this.#org, -this.#inFlight);
    buffer.count(this.#reputation, this.#org, -this.waiting, -this.#queue.bytes);
    change();
    admission.count(this.#reputation, this.#org, this.#inFlight);
    buffer.count(this.#reputation, this.#org, this.waiting, this.#queue.bytes);
  }

  #setLimits({ perSecond, maxConcurrency }: TargetConfig): void {
    this.#window.setMax(maxConcurrency ?? this.#deps.targetConcurrency);
    if (perSecond === null && maxConcurrency === null) this.#limiter = undefined;
    else if (this.#limiter === undefined) this.#limiter = new Limiter({ perSecond, maxConcurrency });
    else this.#limiter.setLimits({ perSecond, maxConcurrency });
  }
}
