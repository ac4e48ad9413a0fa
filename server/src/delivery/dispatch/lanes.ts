import type { Delivery } from "../../items/delivery.ts";
import { Lane, type LaneDeps } from "./lane.ts";
import { isUnproven, KnownReputations, type Reputation } from "./reputation.ts";

/** The lanes of a dispatcher, one for each target that has something in memory or had until a moment ago. */
export class Lanes {
  readonly deps: LaneDeps;
  readonly #lanes = new Map<string, Lane>();
  readonly #known = new KnownReputations();

  constructor(deps: LaneDeps) {
    this.deps = deps;
  }

  all(): Iterable<Lane> {
    return this.#lanes.values();
  }

  find(targetId: string): Lane | undefined {
    return this.#lanes.get(targetId);
  }

  /** Puts a delivery into its target's lane. */
  put(delivery: Delivery): Lane {
    const lane = this.#lanes.get(delivery.targetId) ?? this.#open(delivery.targetId);
    lane.put(delivery);
    return lane;
  }

  /** The target's reputation, whether it has a lane or not. */
  reputationOf(targetId: string): Reputation {
    return this.#lanes.get(targetId)?.reputation ?? this.#known.of(targetId);
  }

  /** Whether one more delivery to the target may wait in memory. */
  hasRoom(targetId: string): boolean {
    const { buffer } = this.deps;
    const lane = this.#lanes.get(targetId);
    return lane === undefined
      ? buffer.hasRoomForUnknown(this.#known.of(targetId))
      : buffer.hasRoom(lane, performance.now());
  }

  /** Targets that can take no more in memory now. */
  full(): string[] {
    const nowMs = performance.now();
    return this.#idsOf((lane) => !this.deps.buffer.hasRoom(lane, nowMs));
  }

  /** Targets that have ended so many attempts in a period of late. */
  ending(count: number): string[] {
    return this.#idsOf((lane) => lane.hasEnded(count));
  }

  /** How many circuits are open. */
  openCircuits(): number {
    const nowMs = performance.now();
    return this.#idsOf((lane) => lane.isCircuitOpen(nowMs)).length;
  }

  /** Requests under way to targets that are untried or hang. */
  inFlightUnproven(): number {
    let count = 0;
    for (const { reputation, inFlight } of this.#lanes.values())
      if (isUnproven(reputation)) count += inFlight;
    return count;
  }

  /** Forgets a target that has nothing in memory or under way, apart from its reputation. */
  forget(lane: Lane): void {
    this.#lanes.delete(lane.targetId);
    lane.close();
    this.#known.remember(lane.targetId, lane.reputation);
  }

  #open(targetId: string): Lane {
    const lane = new Lane(targetId, this.#known.recall(targetId), this.deps);
    this.#lanes.set(targetId, lane);
    lane.noteSilence(performance.now());
    return lane;
  }

  #idsOf(matches: (lane: Lane) => boolean): string[] {
    const found: string[] = [];
    for (const lane of this.#lanes.values()) if (matches(lane)) found.push(lane.targetId);
    return found;
  }
}
