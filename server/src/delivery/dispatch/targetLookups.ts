import type pg from "pg";
import type { SecretBox } from "../../items/secretBox.ts";
import { loadTargets, type TargetConfig } from "../../targets/targetConfig.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Lane } from "./lane.ts";

export interface TargetLookupsDeps {
  pool: pg.Pool;
  box: SecretBox;
  log: Log;
  /** Takes one answer: undefined when the target is gone. `askedAtMs` is of the monotonic clock. */
  found: (lane: Lane, config: TargetConfig | undefined, askedAtMs: number) => void;
  /** Called after the answers of one query were taken. */
  answered: () => void;
}

/** Reads the configuration of lanes' targets, for all lanes that ask in one query at a time. */
export class TargetLookups {
  readonly #deps: TargetLookupsDeps;
  readonly #asking = new Set<Lane>();
  #isAsking = false;
  #isStopping = false;

  constructor(deps: TargetLookupsDeps) {
    this.#deps = deps;
  }

  /** Asks for a lane's target; a lane that asks again before the answer asks once. */
  ask(lane: Lane): void {
    this.#asking.add(lane);
    if (!this.#isAsking) void this.#askAll();
  }

  stop(): void {
    this.#isStopping = true;
  }

  /** Never rejects. */
  async #askAll(): Promise<void> {
    const { pool, box, log, found, answered } = this.#deps;
    this.#isAsking = true;
    while (this.#asking.size > 0 && !this.#isStopping) {
      const lanes = [...this.#asking];
      this.#asking.clear();
      const askedAtMs = performance.now();
      try {
        const targetIds = lanes.map((lane) => lane.targetId);
        const configs = await loadTargets(pool, box, targetIds);
        for (const lane of lanes) found(lane, configs.get(lane.targetId), askedAtMs);
      } catch (error) {
        log.warn({ err: error }, "targets could not be read; trying again");
        // The lane asks again when its next request could start.
        break;
      }
      answered();
    }
    this.#isAsking = false;
  }
}
