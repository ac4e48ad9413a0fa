import type { Outbound } from "../../outbound/outbound.ts";
import { retryAfterMs } from "../../outbound/retryAfter.ts";
import { type Agent, type Agents, type CredentialMask, maskOf } from "../agent/agent.ts";
import { type AgentAnswer, callAgent } from "../agent/callAgent.ts";
import { nextPollMs, type RecordDeps, recordHandoff } from "../record/handoffStore.ts";
import { dropPoll, noteFollowError, type Poll, postponePoll } from "./pollStore.ts";
import { readTaskOf, type TaskView } from "../agent/readTask.ts";
import type { RereadCard } from "../card/refreshCard.ts";

export interface FollowDeps extends RecordDeps {
  outbound: Outbound;
  agents: Agents;
  random: () => number;
  rereadCard: RereadCard;
}

/**
 * The result of one poll of a task; `trouble` means that the agent could not be asked, `unreadable` that its answer about this
 * task is not a task of A2A 1.0.
 */
export type Look = "unchanged" | "changed" | "ended" | "missing" | "unreadable" | "trouble" | "dropped";

export const pollTimeoutMs = 10_000;
/**
 * A task counts as lost if this many consecutive polls find no task, and only this long after its last change: the agent's nodes
 * may be eventually consistent or be replaced one after the other, and an unknown outcome is final.
 */
const lost = { polls: 3, afterMs: 5 * 60_000 };
const maxPolls = 30_000;

/** Polls a task once, and records its change or the time of the next poll. */
export async function followTask(deps: FollowDeps, poll: Poll): Promise<Look> {
  if (poll.taskId === null) {
    await dropPoll(deps.direct, poll.eventId);
    return "dropped";
  }
  const agent = await deps.agents.get(poll.targetId, poll.targetVersion);
  // The next claim removes the polls of a deleted target.
  if (agent === undefined) return postpone(deps, poll, "trouble");
  const answer = await getTask(deps.outbound, agent, poll.taskId);
  const seen = readAnswer(answer, poll.taskId, maskOf(agent));
  switch (seen.kind) {
    case "task":
      return seen.view.fingerprint === poll.fingerprint
        ? postpone(deps, poll, "unchanged")
        : recordChange(deps, poll, seen.view);
    case "missing":
      if (isLost(poll, deps.nowMs())) {
        return giveUp(deps, poll, `the agent no longer knows the task: ${seen.error}`);
      }
      // The task may be at another interface.
      if (poll.missing === 0) await deps.rereadCard(poll.targetId, pollTimeoutMs);
      return postpone(deps, poll, "missing", seen);
    case "moved":
      await deps.rereadCard(poll.targetId, pollTimeoutMs);
      return postpone(deps, poll, "trouble", seen);
    case "unreadable":
    case "trouble":
      return postpone(deps, poll, seen.kind, seen);
  }
}

/** Whether a task counts as lost after one more poll that found no task. */
function isLost({ missing, changedAtMs }: Poll, nowMs: number): boolean {
  return missing + 1 >= lost.polls && nowMs - (changedAtMs ?? 0) >= lost.afterMs;
}

/** Reads a task's current state, by default without its history. */
export function getTask(
  outbound: Outbound,
  agent: Agent,
  taskId: string,
  historyLength: number = 0,
): Promise<AgentAnswer> {
  return callAgent(outbound, agent, {
    method: "GET",
    path: `/tasks/${encodeURIComponent(taskId)}`,
    query: { historyLength: String(historyLength) },
    timeoutMs: pollTimeoutMs,
    isRepeatable: true,
  });
}

interface Problem {
  kind: "missing" | "moved" | "unreadable" | "trouble";
  error: string;
  /** The agent's `Retry-After` header, as received. */
  retryAfter?: string | null;
}

type Seen = { kind: "task"; view: TaskView } | Problem;

function readAnswer(answer: AgentAnswer, taskId: string, mask: CredentialMask): Seen {
  switch (answer.kind) {
    case "answered": {
      const reading = readTaskOf(taskId, answer.value, mask);
      return reading.ok
        ? { kind: "task", view: reading.view }
        : { kind: "unreadable", error: `the agent's answer ${reading.problem}` };
    }
    case "garbled":
      return { kind: "unreadable", error: `the agent's answer ${answer.problem}` };
    case "refused": {
      const { message: error, retryAfter } = answer;
      if (answer.status === 404) return { kind: "missing", error, retryAfter };
      const isMoved = answer.reason === "VERSION_NOT_SUPPORTED" || answer.status === 410;
      return { kind: isMoved ? "moved" : "trouble", error, retryAfter };
    }
    case "failed":
      return { kind: "trouble", error: answer.error.message };
  }
}

async function recordChange(deps: FollowDeps, poll: Poll, view: TaskView): Promise<Look> {
  const { eventId, targetId, leaseToken } = poll;
  await recordHandoff(deps, { eventId, targetId, leaseToken, view });
  return view.outcome === null ? "changed" : "ended";
}

/**
 * Schedules the next poll: not before the time in the agent's `Retry-After`, and not after the time until which the task is
 * followed.
 */
async function postpone(
  deps: FollowDeps,
  poll: Poll,
  look: "unchanged" | "missing" | "unreadable" | "trouble",
  problem?: Problem,
): Promise<Look> {
  const error = problem?.error ?? null;
  const leftMs = poll.deadlineAtMs - deps.nowMs();
  // After a long downtime of the service, the first poll is the only one that saw this problem.
  const isNew = error !== null && poll.followError === null;
  if (leftMs <= 0 && !isNew) {
    const why = error ?? `the task has been ${poll.state ?? "the same"} for too long`;
    return giveUp(deps, poll, `the task is no longer followed: ${why}`);
  }
  if (error !== poll.followError) await noteFollowError(deps.direct, poll.eventId, error);
  const polls = Math.min(poll.polls + 1, maxPolls);
  const askedMs = problem?.retryAfter ? retryAfterMs(problem.retryAfter, deps.nowMs()) : null;
  await postponePoll(deps.direct, poll, {
    polls,
    missing: look === "missing" ? poll.missing + 1 : look === "unchanged" ? 0 : poll.missing,
    inMs: Math.max(nextPollMs(poll.state, polls, deps.random()), Math.min(askedMs ?? 0, leftMs)),
  });
  return look;
}

async function giveUp(deps: FollowDeps, poll: Poll, followError: string): Promise<Look> {
  const { eventId, targetId, leaseToken } = poll;
  await recordHandoff(deps, { eventId, targetId, leaseToken, view: null, followError });
  return "ended";
}
