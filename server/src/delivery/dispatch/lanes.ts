import type pg from "pg";
import type { SecretBox } from "../../items/secretBox.ts";
import { loadTargets, type TargetConfig } from "../../targets/record/targetConfig.ts";
import type { Log } from "../../telemetry/log.ts";
import { Lane, type LaneDeps } from "./lane.ts";
import { isUnproven, KnownReputations, type Reputation } from "./reputation.ts";

/** The lanes of a dispatcher: one for each target that has deliveries in memory or had some recently. */
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

  /** Returns the target's lane; creates it if it does not exist. */
  open(targetId: string): Lane {
    let lane = this.#lanes.get(targetId);
    if (lane === undefined) {
      lane = new Lane(targetId, this.#known.recall(targetId), this.deps);
      this.#lanes.set(targetId, lane);
      lane.noteSilence(performance.now());
    }
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

  /** Targets for which no more deliveries may wait in memory now. */
  full(): string[] {
    const nowMs = performance.now();
    return this.#idsOf((lane) => !this.deps.buffer.hasRoom(lane, nowMs));
  }

  /** Targets for which at least `count` attempts ended in the current or in the previous period. */
  ending(count: number): string[] {
    return this.#idsOf((lane) => lane.hasEnded(count));
  }

  /** How many circuits are open. */
  openCircuits(): number {
    const nowMs = performance.now();
    return this.#idsOf((lane) => lane.isCircuitOpen(nowMs)).length;
  }

  /** Requests in flight to unproven targets: untried or hanging ones. */
  inFlightUnproven(): number {
    let count = 0;
    for (const { reputation, inFlight } of this.#lanes.values())
      if (isUnproven(reputation)) count += inFlight;
    return count;
  }

  /** Removes the lane of a target that has nothing in memory and no request in flight; keeps only its reputation. */
  forget(lane: Lane): void {
    this.#lanes.delete(lane.targetId);
    lane.close();
    this.#known.remember(lane.targetId, lane.reputation);
  }

  #idsOf(matches: (lane: Lane) => boolean): string[] {
    const found: string[] = [];
    for (const lane of this.#lanes.values()) if (matches(lane)) found.push(lane.targetId);
    return found;
  }
}

export interface TargetLookupsDeps {
  pool: pg.Pool;
  box: SecretBox;
  log: Log;
  /** Receives one target's configuration, or undefined if the target was deleted. */
  found: (lane: Lane, config: TargetConfig | undefined) => void;
  /** Called after the results of one query were passed to `found`. */
  answered: () => void;
}

/** Loads the configuration of the lanes' targets. One query at a time serves all lanes that wait for it. */
export class TargetLookups {
  readonly #deps: TargetLookupsDeps;
  readonly #asking = new Set<Lane>();
  #isAsking = false;
  #isStopping = false;

  constructor(deps: TargetLookupsDeps) {
    this.#deps = deps;
  }

  /** Requests a lane's target. Repeated calls before the query starts count as one. */
  ask(lane: Lane): void {
    this.#asking.add(lane);
    if (!this.#isAsking) void this.#askAll();
  }

  stop(): void {
    this.#isStopping = true;
  }

  /** The promise never rejects. */
  async #askAll(): Promise<void> {
    const { pool, box, log, found, answered } = this.#deps;
    this.#isAsking = true;
    while (this.#asking.size > 0 && !this.#isStopping) {
      const lanes = [...this.#asking];
      this.#asking.clear();
      try {
        const targetIds = lanes.map((lane) => lane.targetId);
        const configs = await loadTargets(pool, box, targetIds);
        for (const lane of lanes) found(lane, configs.get(lane.targetId));
      } catch (error) {
        log.warn({ err: error }, "targets could not be read; trying again");
        // The lane requests its target again when its next request could start.
        break;
      }
      answered();
    }
    this.#isAsking = false;
  }
}
