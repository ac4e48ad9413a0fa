import type { AttemptOutcome } from "../../items/delivery.ts";
import type { AgentAnswer, Refusal } from "../agent/callAgent.ts";
import type { CredentialMask } from "../agent/agent.ts";
import { readSendAnswer, type TaskView } from "../agent/readTask.ts";

export type AnswerMeaning =
  | { kind: "accepted"; view: TaskView }
  /** The agent certainly did not accept the message. */
  | { kind: "declined"; outcome: AttemptOutcome }
  /** The agent may have accepted the message. `isNow`: it is useful to look for the task at once. */
  | { kind: "unclear"; error: string; slowDown: boolean; isNow: boolean }
  /**
   * The interface or the protocol version is no longer available, and the card may name a new one. `outcome` applies if the card
   * names the same interface as before, `unsure` if the card cannot be read.
   */
  | { kind: "moved"; outcome: AttemptOutcome; unsure: AttemptOutcome };

const askingForTime = new Set([408, 425, 429, 503]);
/** Statuses that may come from a proxy, or after the agent has begun the work. */
const perhapsTaken = new Set([500, 502, 504]);
/** Statuses that refuse this message permanently. */
const refusedForGood = new Set([400, 409, 411, 413, 414, 415, 422, 431]);

/** Classifies the answer to `message:send` (A2A 1.0, sections 3.1.1, 3.3.2 and 11.6). */
export function classifyAnswer(answer: AgentAnswer, mask: CredentialMask): AnswerMeaning {
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
      // The agent is not at fault, and this does not count as an attempt.
      if (!sent && code === "local") return declined({ kind: "unsent", error: message });
      if (!sent)
        return declined({
          kind: "retry",
          error: message,
          countsTowardDisabling: code !== "other",
          slowDown,
        });
      return { kind: "unclear", error: message, slowDown, isNow: true };
    }
    case "refused":
      return classifyRefusal(answer);
  }
}

function classifyRefusal(refusal: Refusal): AnswerMeaning {
  const { status, reason, message: error } = refusal;
  if (reason === "VERSION_NOT_SUPPORTED") return moved(refusal, { kind: "failed", error });
  // A message may refer to a task that the agent does not know.
  if (status === 404 && reason === "TASK_NOT_FOUND") return declined({ kind: "failed", error });
  if (status === 410) return moved(refusal, { kind: "gone", error });
  if (status === 404 || status === 405 || status === 501) return moved(refusal, again(refusal));
  if (perhapsTaken.has(status)) {
    return { kind: "unclear", error, slowDown: status !== 500, isNow: false };
  }
  if (refusedForGood.has(status)) return declined({ kind: "failed", error });
  return declined(again(refusal));
}

function again({ status, message: error }: Refusal): AttemptOutcome {
  return {
    kind: "retry",
    error,
    countsTowardDisabling: !askingForTime.has(status),
    slowDown: status === 429 || status === 503,
  };
}

function moved(refusal: Refusal, outcome: AttemptOutcome): AnswerMeaning {
  return { kind: "moved", outcome, unsure: again(refusal) };
}

function declined(outcome: AttemptOutcome): AnswerMeaning {
  return { kind: "declined", outcome };
}

function unclear(error: string): AnswerMeaning {
  return { kind: "unclear", error, slowDown: false, isNow: true };
}
