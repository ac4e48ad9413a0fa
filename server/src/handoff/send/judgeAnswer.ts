import type { AttemptVerdict } from "../../items/delivery.ts";
import type { AgentAnswer, Refusal } from "../agent/callAgent.ts";
import type { CredentialMask } from "../agent/credentialMask.ts";
import { readSendAnswer, type TaskView } from "../agent/readTask.ts";

/** What the answer to a message means. */
export type Judgement =
  | { kind: "accepted"; view: TaskView }
  /** The agent did not take the message, for certain. */
  | { kind: "declined"; verdict: AttemptVerdict }
  /** It may have taken the message. `isNow` when it is worth asking at once, because nobody answered. */
  | { kind: "unclear"; error: string; slowDown: boolean; isNow: boolean }
  /**
   * The version or the route is gone, and the card may say where to: `verdict` holds when it names the same interface
   * as before, `unsure` when it cannot be read.
   */
  | { kind: "moved"; verdict: AttemptVerdict; unsure: AttemptVerdict };

const askingForTime = new Set([408, 425, 429, 503]);
/** These may come from something in between, or after the work was begun. */
const perhapsTaken = new Set([500, 502, 504]);
/** The message itself is refused, and would be again. */
const refusedForGood = new Set([400, 409, 411, 413, 414, 415, 422, 431]);

/** Judges the answer to `message:send` (A2A 1.0, sections 3.1.1, 3.3.2 and 11.6). */
export function judgeAnswer(answer: AgentAnswer, mask: CredentialMask): Judgement {
  switch (answer.kind) {
    case "answered": {
      const reading = readSendAnswer(answer.value, mask);
      return reading.ok
        ? { kind: "accepted", view: reading.view }
        : unclear(`the agent's answer (${answer.status}) ${reading.problem}`);
    }
    case "garbled":
      return unclear(`the agent's answer (${answer.status}) ${answer.problem}`);
    case "failed": {
      const { sent, message, code } = answer.error;
      const slowDown = code === "timeout" || code === "connect_timeout";
      // Nothing is wrong with the agent, and this is no attempt.
      if (!sent && code === "local") return declined({ outcome: "unsent", error: message });
      if (!sent)
        return declined({
          outcome: "retry",
          error: message,
          countsTowardDisabling: code !== "other",
          slowDown,
        });
      return { kind: "unclear", error: message, slowDown, isNow: true };
    }
    case "refused":
      return judgeRefusal(answer);
  }
}

function judgeRefusal(refusal: Refusal): Judgement {
  const { status, reason, message: error } = refusal;
  if (reason === "VERSION_NOT_SUPPORTED") return moved(refusal, { outcome: "failed", error });
  // A message may name a task to continue, which the agent does not know.
  if (status === 404 && reason === "TASK_NOT_FOUND") return declined({ outcome: "failed", error });
  if (status === 410) return moved(refusal, { outcome: "gone", error });
  if (status === 404 || status === 405 || status === 501) return moved(refusal, again(refusal));
  if (perhapsTaken.has(status)) {
    return { kind: "unclear", error, slowDown: status !== 500, isNow: false };
  }
  if (refusedForGood.has(status)) return declined({ outcome: "failed", error });
  return declined(again(refusal));
}

function again({ status, message: error }: Refusal): AttemptVerdict {
  return {
    outcome: "retry",
    error,
    countsTowardDisabling: !askingForTime.has(status),
    slowDown: status === 429 || status === 503,
  };
}

function moved(refusal: Refusal, verdict: AttemptVerdict): Judgement {
  return { kind: "moved", verdict, unsure: again(refusal) };
}

function declined(verdict: AttemptVerdict): Judgement {
  return { kind: "declined", verdict };
}

function unclear(error: string): Judgement {
  return { kind: "unclear", error, slowDown: false, isNow: true };
}
