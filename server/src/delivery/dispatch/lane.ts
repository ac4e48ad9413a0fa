import type { AttemptResult, Delivery } from "../../items/delivery.ts";
import type { TargetConfig } from "../../targets/record/targetConfig.ts";
import type { Admission, OrgLoad } from "./admission.ts";
import { type DeliveryBuffer, DeliveryQueue } from "./buffer.ts";
import { Limiter } from "./limiter.ts";
import type { ReadyQueue } from "./readyQueue.ts";
import { isTimeout, isUnproven, type Reputation, Responsiveness } from "./reputation.ts";
import { Window } from "./window.ts";

/** Read-ahead of one target: at least max(8, 4 × window) deliveries, at most 1,024. */
const minAhead = 8;
const windowsAhead = 4;
const maxAhead = 1_024;
/** For a target whose rate is limited, as many deliveries stay in memory as may be sent in this many seconds. */
const keptSeconds = 2;
/**
 * A target's configuration is looked up again before use when no acceptance or claim confirmed it for this long. An item
 * that waits in memory may miss for as long that its target was deleted, disabled or changed.
 */
const configAgeLimitMs = 200;
/** How long a lane that has nothing to do is kept after its circuit has closed. */
const circuitMemoryMs = 60_000;

/** The counts and the queue that all lanes of a dispatcher share. */
export interface LaneDeps {
  admission: Admission;
  buffer: DeliveryBuffer;
  ready: ReadyQueue;
  /** How many requests a target may have under way, unless its owner says less. */
  targetConcurrency: number;
  /** How long a prompt receiver takes at most. */
  promptMs: number;
}

/**
 * One target as this dispatcher works on it: the deliveries that wait in memory, the requests under way, and how many
 * requests the target can take.
 *
 * A lane owns its fields: only the methods below write them, and each that changes what waits or is under way also counts
 * it in the shared `admission` and `buffer`. README.md has the protocol. Moments are of the monotonic clock.
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
  /** When `#config` was last known to be current. */
  #checkedAtMs = 0;
  #limiter: Limiter | undefined;
  #isInReadyQueue = false;
  #hasMoreDue = false;
  /** Attempts that ended in the present and the last accounting period. */
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

  /** Known with the target's configuration. */
  get org(): OrgLoad | undefined {
    return this.#org;
  }

  get config(): TargetConfig | undefined {
    return this.#config;
  }

  /** Where the target's owner has set a limit. */
  get limiter(): Limiter | undefined {
    return this.#limiter;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** How many deliveries wait in memory. */
  get waiting(): number {
    return this.#queue.length;
  }

  get isInReadyQueue(): boolean {
    return this.#isInReadyQueue;
  }

  /** Something was left in the database for want of room in memory. */
  get hasMoreDue(): boolean {
    return this.#hasMoreDue;
  }

  /** No request starts before this moment: the circuit is open, or the lane is paused. */
  get closedUntilMs(): number {
    return this.#window.closedUntilMs;
  }

  isEmpty(): boolean {
    return this.waiting === 0 && this.#inFlight === 0;
  }

  /** Puts a delivery behind those that wait; one of the known version confirms the configuration. */
  put(delivery: Delivery): void {
    this.#push(delivery);
    if (this.#config?.version === delivery.targetVersion) this.#checkedAtMs = performance.now();
  }

  /** The delivery that {@link take} would take out. */
  get next(): Delivery | undefined {
    return this.#queue.next;
  }

  /** Takes the next delivery out. */
  take(): Delivery | undefined {
    const delivery = this.#queue.take();
    if (delivery !== undefined) this.#countWaiting(-1, -delivery.payload.length);
    return delivery;
  }

  /** Takes everything out. */
  takeAll(): Delivery[] {
    if (this.waiting === 0) return [];
    this.leaveQueue();
    return this.#takeAll();
  }

  /** Takes out what has waited too long to be sent. */
  takeLate(isLate: (delivery: Delivery) => boolean): Delivery[] {
    const late: Delivery[] = [];
    while (this.next !== undefined && isLate(this.next)) late.push(this.take()!);
    if (this.waiting === 0) this.leaveQueue();
    return late;
  }

  /** Takes out what the owner's rate limit keeps from being sent in the next seconds. */
  takeSurplus(): Delivery[] {
    const perSecond = this.#limiter?.limits.perSecond ?? null;
    const kept = perSecond === null ? this.waiting : Math.ceil(perSecond * keptSeconds);
    if (this.waiting <= kept) return [];
    const all = this.#takeAll();
    for (const delivery of all.splice(0, kept)) this.#push(delivery);
    return all;
  }

  /**
   * Whether more should be read into memory: as much as the target has lately ended in a period, so that a fast target
   * never runs dry between two claims and a slow one never holds what another node could deliver.
   * @param maxDeliveries What the target may have in memory at most, as `maxBytes`.
   */
  wantsMore(maxDeliveries: number, maxBytes: number): boolean {
    const count = this.waiting;
    if (count === 0) return true;
    const perSecond = this.#limiter?.limits.perSecond;
    // A claim brings what may be sent in a second, at most.
    if (typeof perSecond === "number" && count >= perSecond / 2) return false;
    const wanted =
      Math.max(minAhead, this.#window.size * windowsAhead) + Math.max(this.#recent, this.#previous);
    return count < Math.min(maxAhead, wanted, maxDeliveries) && this.#queue.bytes < maxBytes;
  }

  /** Notes whether the database has more due of the target than was claimed. */
  noteMoreDue(hasMoreDue: boolean): void {
    this.#hasMoreDue = hasMoreDue;
  }

  /** Takes over what was read of the target; undefined when it is gone. @param askedAtMs When the query began. */
  configure(config: TargetConfig | undefined, askedAtMs: number): void {
    this.#config = config;
    this.#checkedAtMs = askedAtMs;
    if (config === undefined) return;
    this.#setLimits(config);
    if (this.#org !== undefined) return;
    this.#recount(() => (this.#org = this.#deps.admission.enterOrg(config.orgId)));
    // Its last attempt on any node failed.
    if (this.#reputation === "untried" && config.failingSince !== null) this.#setReputation("hanging");
  }

  /** Whether the configuration can be used for a delivery that was accepted or claimed at this version of the target. */
  isConfigured(version: number, nowMs: number): boolean {
    return (
      this.#config !== undefined &&
      this.#config.version >= version &&
      nowMs - this.#checkedAtMs <= configAgeLimitMs
    );
  }

  /** The lane is forgotten: it leaves its organization, and has no limiter any more. */
  close(): void {
    this.#limiter = undefined;
    if (this.#org !== undefined) this.#deps.admission.leaveOrg(this.#org);
  }

  /** Whether the target could take one more request now, whatever others want. */
  isReady(nowMs: number): boolean {
    return (
      this.isOpen(nowMs) && (this.#limiter === undefined || this.#limiter.mayBegin(this.#inFlight, nowMs))
    );
  }

  /** The same, whatever limits its owner has set. */
  isOpen(nowMs: number): boolean {
    return this.waiting > 0 && this.#window.admits(this.#inFlight, nowMs);
  }

  /** Whether nothing starts now, because the circuit is open or the lane is paused. */
  isClosed(nowMs: number): boolean {
    return this.#window.closedUntilMs > nowMs;
  }

  /** Whether failures keep requests from the target for now. */
  isCircuitOpen(nowMs: number): boolean {
    return this.#window.isCircuitOpen(nowMs);
  }

  /** Enters the ready queue, if the target can take a request. */
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

  /** The ready queue has taken the lane out. */
  leftQueue(): void {
    this.#isInReadyQueue = false;
  }

  /** A request begins. */
  begin(nowMs: number): void {
    if (this.#inFlight === 0) this.#responsiveness.noteProgress(nowMs);
    this.#limiter?.begin(nowMs);
    this.#inFlight++;
    this.#deps.admission.count(this.#reputation, this.#org, 1);
  }

  /** A request has ended; unless nothing was sent, {@link noteResult} follows. */
  end(): void {
    this.#inFlight--;
    this.#deps.admission.count(this.#reputation, this.#org, -1);
  }

  /**
   * Learns from a request's result how many the target can take, and its reputation.
   * @returns "open" when the circuit is open now, "closed" when it has just closed.
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

  /** Starts nothing before that moment, and fewer at a time after it; counts as no failure. */
  pause(untilMs: number): void {
    this.#window.pause(untilMs);
  }

  /** Starts nothing before that moment, because the owner's limit does not allow it. */
  waitForPermit(untilMs: number): void {
    this.#window.closeUntil(untilMs);
  }

  /** Begins an accounting period of `periodMs`. @param wasAway This process itself stood still: no silence of the target. */
  beginPeriod(nowMs: number, periodMs: number, wasAway: boolean): void {
    this.#previous = this.#recent;
    this.#recent = 0;
    if (wasAway) this.#responsiveness.noteProgress(nowMs - periodMs);
  }

  /** Whether the target ended at least `count` attempts in the present or the last period. */
  hasEnded(count: number): boolean {
    return this.#recent >= count || this.#previous >= count;
  }

  /** Counts the target as hanging if its requests under way have brought nothing for too long. @returns whether it did. */
  noteStall(nowMs: number): boolean {
    if (this.#inFlight === 0 || this.#reputation === "hanging") return false;
    if (!this.#responsiveness.isStalled(this.#reputation, nowMs)) return false;
    this.#setReputation("hanging");
    return true;
  }

  /** Counts a target as untried again that has not answered lately, while more requests hang than their budget allows. */
  noteSilence(nowMs: number): void {
    if (isUnproven(this.#reputation) || !this.#deps.admission.isStrained()) return;
    if (this.#inFlight === 0 && this.#responsiveness.isSilent(nowMs)) this.#setReputation("untried");
  }

  /** Whether the lane can be forgotten. */
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

  /** Moves what waits and is under way from one budget to another. */
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
