import type { Delivery } from "../../items/delivery.ts";
import type { TargetConfig } from "../../targets/targetConfig.ts";
import { type Admission, isUnproven, type Standing } from "./admission.ts";
import { createLane, isCircuitOpen, isReady, type Lane, setMaxWindow, waiting } from "./lane.ts";
import { createPace } from "./pace.ts";
import type { Paces } from "./paces.ts";
import { createReputations } from "./reputations.ts";
import { RoundOfTurns } from "./turns.ts";
import { WaitingRoom } from "./waitingRoom.ts";

export interface LanesDeps {
  admission: Admission;
  /** How many requests a target may have under way. */
  targetConcurrency: number;
  /** For targets with limits of their owner's. */
  paces: Paces;
}

/** While more hangs than its budget allows, a target is trusted for so long after its last answer. */
const trustMs = 5_000;

/** The targets that a node works on, with what waits in memory for them and whose turn it is. */
export class Lanes {
  readonly waitingRoom = new WaitingRoom();
  readonly turns: RoundOfTurns;
  readonly #deps: LanesDeps;
  readonly #lanes = new Map<string, Lane>();
  readonly #reputations = createReputations();

  constructor(deps: LanesDeps) {
    this.#deps = deps;
    this.turns = new RoundOfTurns(deps.admission);
  }

  all(): Iterable<Lane> {
    return this.#lanes.values();
  }

  find(targetId: string): Lane | undefined {
    return this.#lanes.get(targetId);
  }

  /** What is known of the target, whether it has a lane or not. */
  standingOf(targetId: string): Standing {
    const lane = this.#lanes.get(targetId);
    return lane === undefined ? this.#reputations.of(targetId) : lane.standing;
  }

  add(delivery: Delivery): Lane {
    const lane = this.#lanes.get(delivery.targetId) ?? this.#open(delivery.targetId);
    this.waitingRoom.add(lane, delivery);
    if (lane.config?.version === delivery.targetVersion) lane.checkedAtMs = performance.now();
    return lane;
  }

  /** How many circuits are open. */
  openCircuits(): number {
    const nowMs = performance.now();
    let open = 0;
    for (const lane of this.#lanes.values()) if (isCircuitOpen(lane, nowMs)) open++;
    return open;
  }

  /** Requests under way to targets that are untried or hang. */
  inFlightUnproven(): number {
    let count = 0;
    for (const { standing, inFlight } of this.#lanes.values()) if (isUnproven(standing)) count += inFlight;
    return count;
  }

  /** Targets that have ended at least so many deliveries of late. */
  ending(count: number): string[] {
    const found: string[] = [];
    for (const lane of this.#lanes.values()) {
      if (lane.recent >= count || lane.previous >= count) found.push(lane.targetId);
    }
    return found;
  }

  /** Takes out what waits for a target whose rate is limited and cannot be sent in the next two seconds. */
  removeSurplus(lane: Lane): Delivery[] {
    const perSecond = lane.pace?.limits.perSecond ?? null;
    const kept = perSecond === null ? waiting(lane) : Math.ceil(perSecond * 2);
    if (waiting(lane) <= kept) return [];
    const all = this.waitingRoom.takeAll(lane);
    for (const delivery of all.splice(0, kept)) this.waitingRoom.add(lane, delivery);
    return all;
  }

  /** Takes everything out that waits for the lane's target. */
  removeAll(lane: Lane): Delivery[] {
    if (waiting(lane) === 0) return [];
    this.turns.remove(lane);
    return this.waitingRoom.takeAll(lane);
  }

  move(lane: Lane, standing: Standing): void {
    if (lane.standing === standing) return;
    this.turns.remove(lane);
    this.waitingRoom.recount(lane, () => this.#deps.admission.move(lane, standing));
  }

  /** Takes over what was read of the target; undefined when it is gone. @param askedAtMs By the monotonic clock. */
  configure(lane: Lane, config: TargetConfig | undefined, askedAtMs: number): void {
    // The lane was forgotten while its target was looked up.
    if (this.#lanes.get(lane.targetId) !== lane) return;
    const isFirst = lane.org === undefined;
    lane.config = config;
    lane.checkedAtMs = askedAtMs;
    if (config === undefined) return;
    this.#setLimits(lane, config);
    if (!isFirst) return;
    this.waitingRoom.recount(lane, () => this.#deps.admission.join(lane, config.orgId));
    // Its last attempt on any node failed.
    if (lane.standing === "untried" && config.failingSince !== null) this.move(lane, "hanging");
  }

  /** Whether one more delivery to the target may wait here. */
  hasRoom(targetId: string): boolean {
    const lane = this.#lanes.get(targetId);
    return lane === undefined
      ? this.waitingRoom.hasRoomForStranger(this.standingOf(targetId))
      : this.waitingRoom.hasRoom(lane, performance.now());
  }

  /** Targets that can take no more in memory now. */
  full(): string[] {
    const nowMs = performance.now();
    const full: string[] = [];
    for (const lane of this.#lanes.values()) {
      if (!this.waitingRoom.hasRoom(lane, nowMs)) full.push(lane.targetId);
    }
    return full;
  }

  /** Takes a target that has not answered lately for untried again, while proven targets hang. */
  doubt(lane: Lane, nowMs: number): void {
    if (isUnproven(lane.standing) || !this.#deps.admission.isStrained()) return;
    if (lane.inFlight === 0 && nowMs - lane.answeredAtMs > trustMs) this.move(lane, "untried");
  }

  /** Forgets a target that has nothing in memory or under way, apart from its standing. */
  forget(lane: Lane): void {
    this.#lanes.delete(lane.targetId);
    this.#deps.paces.forget(lane);
    this.#deps.admission.leave(lane);
    this.#reputations.remember(lane.targetId, lane.standing);
  }

  #setLimits(lane: Lane, { perSecond, maxConcurrency }: TargetConfig): void {
    setMaxWindow(lane, maxConcurrency ?? this.#deps.targetConcurrency);
    if (perSecond === null && maxConcurrency === null) this.#deps.paces.forget(lane);
    else (lane.pace ??= createPace({ perSecond, maxConcurrency })).limits = { perSecond, maxConcurrency };
  }

  #open(targetId: string): Lane {
    const lane = createLane(targetId, this.#deps.targetConcurrency, this.#reputations.recall(targetId));
    this.#lanes.set(targetId, lane);
    this.doubt(lane, performance.now());
    return lane;
  }

  /** Lets the lane have its turn, if it can take a request. */
  queue(lane: Lane, nowMs: number): void {
    if (lane.org !== undefined && isReady(lane, nowMs)) this.turns.push(lane);
  }
}
