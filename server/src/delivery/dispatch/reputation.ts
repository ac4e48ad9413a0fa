import type { AttemptResult } from "../../items/delivery.ts";

/**
 * How a target's receiver answered this process; it determines the budget of requests to the target. `prompt`: answers or
 * refuses at once. `slow`: answers, but slowly. `untried`: has not answered this process yet. `hanging`: held a connection for
 * long without an answer, in the last request or now.
 */
export type Reputation = "prompt" | "slow" | "untried" | "hanging";

export const reputations: readonly Reputation[] = ["prompt", "slow", "untried", "hanging"];

/** Whether the target is untried or hanging: nothing shows that it answers. */
export function isUnproven(reputation: Reputation): boolean {
  return reputation === "untried" || reputation === "hanging";
}

/** An exchange is slow or hangs if it takes longer than this, or longer than half of the timeout if that is shorter. */
const maxPromptMs = 1_000;
/**
 * A target that has answered before counts as hanging when a request takes this many times the last duration, or this many times
 * the limit for prompt answers if that is longer.
 */
const provenTimes = 2;
/** How long a target is trusted after its last answer, while more requests hang than their budget allows. */
const trustMs = 5_000;

/** @param timeoutMs The time limit of a whole attempt. @returns the longest duration of a prompt exchange. */
export function promptLimitMs(timeoutMs: number): number {
  return Math.min(maxPromptMs, timeoutMs / 2);
}

/**
 * Whether the request held its connection for long without an answer from the receiver. Statuses such as 504 count as timeouts,
 * because a gateway sends them after it waited for the receiver in vain.
 */
export function isTimeout({ outcome, statusCode, durationMs }: AttemptResult, promptMs: number): boolean {
  return durationMs >= promptMs && outcome.kind === "retry" && (outcome.slowDown || statusCode === 0);
}

/** When one target's receiver answered, and how fast. Times are on the monotonic clock. */
export class Responsiveness {
  readonly #promptMs: number;
  /** When a request last ended, or when the first request in flight began. */
  #progressAtMs = 0;
  /** When the receiver last answered or refused at once. */
  #answeredAtMs = 0;
  #lastDurationMs = 0;

  constructor(promptMs: number) {
    this.#promptMs = promptMs;
  }

  /**
   * Called when the first request in flight begins, or when this process was suspended until `atMs`, so that silence before that
   * does not count.
   */
  noteProgress(atMs: number): void {
    this.#progressAtMs = Math.max(this.#progressAtMs, atMs);
  }

  /** Called when a request has ended. @returns the target's new reputation. */
  noteResult(result: AttemptResult, nowMs: number): Reputation {
    this.#lastDurationMs = result.durationMs;
    this.#progressAtMs = nowMs;
    if (isTimeout(result, this.#promptMs)) return "hanging";
    this.#answeredAtMs = nowMs;
    return result.durationMs >= this.#promptMs ? "slow" : "prompt";
  }

  /** Whether the requests in flight had no result for so long that the target counts as hanging. */
  isStalled(reputation: Reputation, nowMs: number): boolean {
    const limitMs =
      reputation === "untried"
        ? this.#promptMs
        : Math.max(this.#promptMs, this.#lastDurationMs) * provenTimes;
    return nowMs - this.#progressAtMs > limitMs;
  }

  /** Whether the last answer is too old to trust the target while other targets have begun to hang. */
  isSilent(nowMs: number): boolean {
    return nowMs - this.#answeredAtMs > trustMs;
  }
}

/** Maximum number of remembered targets (some megabytes); the oldest entries are removed first. */
const maxRemembered = 65_536;

/** The reputations of targets that have no delivery in memory and no request in flight. */
export class KnownReputations {
  readonly #known = new Map<string, Reputation>();

  /** Returns `untried` for an unknown target. */
  of(targetId: string): Reputation {
    return this.#known.get(targetId) ?? "untried";
  }

  remember(targetId: string, reputation: Reputation): void {
    // Moves the target to the end of the Map's insertion order; entries are evicted from the front (LRU).
    this.#known.delete(targetId);
    if (reputation === "untried") return;
    this.#known.set(targetId, reputation);
    if (this.#known.size <= maxRemembered) return;
    const [oldest] = this.#known.keys();
    this.#known.delete(oldest!);
  }

  /** Returns the remembered reputation and removes it. */
  recall(targetId: string): Reputation {
    const reputation = this.of(targetId);
    this.#known.delete(targetId);
    return reputation;
  }
}
