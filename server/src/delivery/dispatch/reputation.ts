import type { AttemptResult } from "../../items/delivery.ts";

/**
 * How a target's receiver answered this process, which decides the budget that requests to it count to:
 * `prompt` answers, or refuses, at once; `slow` answers, but takes its time; `untried` has not answered this process yet;
 * `hanging` held a connection for long without an answer, the last time or at this moment.
 */
export type Reputation = "prompt" | "slow" | "untried" | "hanging";

export const reputations: readonly Reputation[] = ["prompt", "slow", "untried", "hanging"];

/** Whether the target is untried or hangs: nothing shows that it answers. */
export function isUnproven(reputation: Reputation): boolean {
  return reputation === "untried" || reputation === "hanging";
}

/** An exchange that takes longer than this, or than half of the timeout if that is less, is slow or hangs. */
const maxPromptMs = 1_000;
/** A target that has answered before hangs when it takes this many times its last duration, or the limit for prompt answers if that is longer. */
const provenTimes = 2;
/** How long a target is trusted after its last answer while more requests hang than their budget allows. */
const trustMs = 5_000;

/** @param timeoutMs Of a whole attempt. @returns how long a prompt receiver takes at most. */
export function promptLimitMs(timeoutMs: number): number {
  return Math.min(maxPromptMs, timeoutMs / 2);
}

/**
 * Whether the request held its connection for long without an answer of the receiver: 504 and the like come from something
 * that waited in vain for the receiver itself.
 */
export function isTimeout({ outcome, statusCode, durationMs }: AttemptResult, promptMs: number): boolean {
  return durationMs >= promptMs && outcome.kind === "retry" && (outcome.slowDown || statusCode === 0);
}

/** When one target's receiver answered, and how fast. Moments are of the monotonic clock. */
export class Responsiveness {
  readonly #promptMs: number;
  /** When a request last ended, or the first of those under way began. */
  #progressAtMs = 0;
  /** When the receiver last answered, or refused at once. */
  #answeredAtMs = 0;
  #lastDurationMs = 0;

  constructor(promptMs: number) {
    this.#promptMs = promptMs;
  }

  /** The first of the requests under way begins; or this process stood still until then, which is no silence of the target. */
  noteProgress(atMs: number): void {
    this.#progressAtMs = Math.max(this.#progressAtMs, atMs);
  }

  /** A request has ended. @returns the target's reputation from now on. */
  noteResult(result: AttemptResult, nowMs: number): Reputation {
    this.#lastDurationMs = result.durationMs;
    this.#progressAtMs = nowMs;
    if (isTimeout(result, this.#promptMs)) return "hanging";
    this.#answeredAtMs = nowMs;
    return result.durationMs >= this.#promptMs ? "slow" : "prompt";
  }

  /** Whether requests under way have brought nothing for so long that the target counts as hanging. */
  isStalled(reputation: Reputation, nowMs: number): boolean {
    const limitMs =
      reputation === "untried"
        ? this.#promptMs
        : Math.max(this.#promptMs, this.#lastDurationMs) * provenTimes;
    return nowMs - this.#progressAtMs > limitMs;
  }

  /** Whether the last answer is too long ago to trust the target while others that answered have begun to hang. */
  isSilent(nowMs: number): boolean {
    return nowMs - this.#answeredAtMs > trustMs;
  }
}

/** Targets remembered, some megabytes; the oldest give way. */
const maxRemembered = 65_536;

/** The reputations of targets that have nothing in memory or under way. */
export class KnownReputations {
  readonly #known = new Map<string, Reputation>();

  /** `untried` where nothing is known. */
  of(targetId: string): Reputation {
    return this.#known.get(targetId) ?? "untried";
  }

  remember(targetId: string, reputation: Reputation): void {
    // At the end of the Map's insertion order, which is evicted from the front (LRU).
    this.#known.delete(targetId);
    if (reputation === "untried") return;
    this.#known.set(targetId, reputation);
    if (this.#known.size <= maxRemembered) return;
    const [oldest] = this.#known.keys();
    this.#known.delete(oldest!);
  }

  /** Gives what was remembered, and forgets it. */
  recall(targetId: string): Reputation {
    const reputation = this.of(targetId);
    this.#known.delete(targetId);
    return reputation;
  }
}
