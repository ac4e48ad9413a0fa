import type { AttemptResult } from "../../items/delivery.ts";
import type { Standing } from "./admission.ts";
import { type Lane, noteSuccess, noteTrouble } from "./lane.ts";

/** Tells from what becomes of a target's requests how it stands. */
export interface Judge {
  /** Notes the end of a request in the lane, and gives the target's standing from now on. */
  ended(lane: Lane, result: AttemptResult, nowMs: number): Standing;
  /** Whether the requests under way have brought nothing for so long that the target is taken for one that hangs. */
  isStalled(lane: Lane, nowMs: number): boolean;
}

/** An exchange that takes longer is slow, or hangs; half of the timeout when that is less. */
const maxPromptMs = 1_000;
/** A target that has answered before hangs when it takes so many times as long as it did, or as the prompt may. */
const provenTimes = 2;

/** @param timeoutMs Of a whole attempt. */
export function createJudge(timeoutMs: number): Judge {
  const promptMs = Math.min(maxPromptMs, timeoutMs / 2);
  return {
    ended(lane, { verdict, statusCode, durationMs }, nowMs) {
      const isLong = durationMs >= promptMs;
      lane.lastDurationMs = durationMs;
      lane.progressAtMs = nowMs;
      if (verdict.outcome === "delivered") noteSuccess(lane);
      else {
        const slowDown = verdict.outcome === "retry" && verdict.slowDown;
        // 504 and the like come from something that waited in vain for the receiver itself.
        const isTimeout = isLong && (slowDown || (verdict.outcome === "retry" && statusCode === 0));
        noteTrouble(lane, { slowDown, isTimeout }, nowMs);
        if (isTimeout) return "hanging";
      }
      lane.answeredAtMs = nowMs;
      return isLong ? "slow" : "prompt";
    },
    isStalled(lane, nowMs) {
      if (lane.inFlight === 0 || lane.standing === "hanging") return false;
      const limitMs =
        lane.standing === "untried" ? promptMs : Math.max(promptMs, lane.lastDurationMs) * provenTimes;
      return nowMs - lane.progressAtMs > limitMs;
    },
  };
}
