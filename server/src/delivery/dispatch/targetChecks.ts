import type pg from "pg";
import type { SecretBox } from "../../items/secretBox.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Lane } from "./lane.ts";
import { loadTargets, type TargetConfig } from "../../targets/targetConfig.ts";

/** Looks up what lanes need to know of their targets, for all that ask in one query at a time. */
export interface TargetChecks {
  /** Asks for a lane's target. Several times before the answer are once. */
  ask(lane: Lane): void;
  stop(): void;
}

export interface TargetChecksDeps {
  pool: pg.Pool;
  box: SecretBox;
  log: Log;
  /** Takes one answer: undefined when the target is gone. `askedAtMs` is of the monotonic clock. */
  apply: (lane: Lane, config: TargetConfig | undefined, askedAtMs: number) => void;
  /** Called after the answers of one query were applied. */
  applied: () => void;
}

export function createTargetChecks(deps: TargetChecksDeps): TargetChecks {
  const asking = new Set<Lane>();
  let isAsking = false;
  const stopping = new AbortController();

  /** Never rejects. */
  async function askAll(): Promise<void> {
    isAsking = true;
    while (asking.size > 0 && !stopping.signal.aborted) {
      const lanes = [...asking];
      asking.clear();
      const askedAtMs = performance.now();
      try {
        const targetIds = lanes.map((lane) => lane.targetId);
        const found = await loadTargets(deps.pool, deps.box, targetIds);
        for (const lane of lanes) deps.apply(lane, found.get(lane.targetId), askedAtMs);
      } catch (error) {
        deps.log.warn({ err: error }, "targets could not be read; trying again");
        // The next turn of the lane asks again.
        break;
      }
      deps.applied();
    }
    isAsking = false;
  }

  return {
    ask(lane) {
      asking.add(lane);
      if (!isAsking) void askAll();
    },
    stop: () => stopping.abort(),
  };
}
