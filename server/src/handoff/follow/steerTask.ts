import { createHash } from "node:crypto";
import { isId, newRootId } from "../../postgres/ids.ts";
import { isHandoff } from "../../postgres/kinds.ts";
import type { HandoffRow, Queries } from "../../postgres/tables.ts";
import { type Agent, loadAgent, maskOf } from "../agent/agent.ts";
import { type AgentAnswer, callAgent, type Refusal } from "../agent/callAgent.ts";
import { type FollowDeps, getTask, pollTimeoutMs } from "./followTask.ts";
import { leaseForAnswer, postponePoll } from "./pollStore.ts";
import { type HandoffAnswer, handoffAnswer, readHandoff } from "../record/handoffAnswer.ts";
import { recordHandoff } from "../record/handoffStore.ts";
import { sendMessage } from "../agent/message.ts";
import { hasMessage, isInterrupted, readSendAnswer, readTaskOf, type TaskView } from "../agent/readTask.ts";
import type { Parts } from "../../items/parts.ts";
import { isJsonObject } from "../../http/contract/json.ts";

export interface SteerDeps extends FollowDeps, Pick<Parts, "queries" | "box"> {
  newToken: () => number;
}

export type SteerOutcome =
  /** The agent has accepted the message: now, or (`isReplayed`) in an earlier request with the same key. */
  { kind: "answered"; handoff: HandoffAnswer; isReplayed: boolean } | SteerRefusal;

export type CancelOutcome =
  /** The agent was asked; the handoff has the task's new state. */
  { kind: "asked"; handoff: HandoffAnswer } | SteerRefusal;

export type SteerRefusal =
  | { kind: "unknown" }
  | { kind: "not_for_an_agent" }
  | { kind: "not_handed_over" }
  | { kind: "ended"; outcome: string }
  | { kind: "target_deleted" }
  | { kind: "not_waiting"; state: string | null }
  | { kind: "being_answered" }
  /** The agent reports that the task cannot be canceled. */
  | { kind: "not_cancelable"; message: string }
  | { kind: "agent_failed"; message: string };

/** A task that has not ended, with its agent. */
interface LiveTask {
  kind: "live";
  eventId: string;
  agent: Agent;
  handoff: HandoffRow;
  taskId: string;
}

/** Number of messages of a task's history that are searched for a message that may have been sent before. */
const historyLength = 50;
/** Longer than the at most three requests of an answer. */
const answerLeaseMs = 4 * pollTimeoutMs;
const pollAfterAnswerMs = 1_000;

interface AnswerInput {
  orgId: string;
  eventId: string;
  payload: Buffer;
  key: string | null;
}

/**
 * Answers a task that waits for input (A2A 1.0, section 3.4.3), unless another answer to it is being sent, by this process or
 * another. Requests with the same `key` send the same message id, so that the task is not answered twice.
 */
export async function answerTask(deps: SteerDeps, input: AnswerInput): Promise<SteerOutcome> {
  const found = await findTask(deps, input);
  if (found.kind !== "live") return found;
  const { eventId } = found;
  const leaseToken = -deps.newToken();
  if (!(await leaseForAnswer(deps.direct, { eventId, leaseToken, leaseMs: answerLeaseMs })))
    return { kind: "being_answered" };
  try {
    return await answerOnce(deps, input, found);
  } finally {
    const next = { polls: 0, missing: 0, inMs: pollAfterAnswerMs };
    // If the database is unreachable, the lease lapses.
    await postponePoll(deps.direct, { eventId, leaseToken }, next).catch(() => undefined);
  }
}

async function answerOnce(deps: SteerDeps, input: AnswerInput, found: LiveTask): Promise<SteerOutcome> {
  const task = await refreshTask(deps, found, { mustBeReadable: true });
  if (task.kind !== "live") return task;
  const message = await identify(deps, task, input.key);
  if (message.kind === "agent_failed") return message;
  if (message.kind === "known") return withHandoff(deps, input, { kind: "answered", isReplayed: true });
  const { state } = task.handoff;
  if (!isInterrupted(state)) return { kind: "not_waiting", state };
  const parts = {
    messageId: message.id,
    payload: input.payload,
    metadata: { event_id: task.eventId },
    taskId: task.taskId,
    contextId: task.handoff.context_id,
  };
  const answer = await sendMessage(deps.outbound, task.agent, parts, { timeoutMs: pollTimeoutMs });
  // The agent has accepted the message, even if its answer cannot be parsed; polls will show the task's state.
  const sent = doneOf(answer, "accept the message");
  if (sent.kind === "agent_failed") return sent;
  const reading = readSendAnswer(sent.value, maskOf(task.agent));
  const isSameTask = reading.ok && reading.view.taskId === task.taskId;
  await record(deps, task, isSameTask ? reading.view : null);
  return withHandoff(deps, input, { kind: "answered", isReplayed: false });
}

/** Adds the current handoff to an outcome. */
async function withHandoff<Outcome extends object>(
  deps: SteerDeps,
  { orgId, eventId }: { orgId: string; eventId: string },
  outcome: Outcome,
): Promise<(Outcome & { handoff: HandoffAnswer }) | { kind: "unknown" }> {
  const handoff = handoffAnswer(await readHandoff(deps.queries, orgId, eventId));
  return handoff === null ? { kind: "unknown" } : { ...outcome, handoff };
}

/** Asks the agent to cancel a task (section 3.1.5), also one that it shows in a form that cannot be read. */
export async function cancelTask(
  deps: SteerDeps,
  input: { orgId: string; eventId: string },
): Promise<CancelOutcome> {
  const found = await findTask(deps, input);
  const task = found.kind === "live" ? await refreshTask(deps, found, { mustBeReadable: false }) : found;
  if (task.kind !== "live") return task;
  const answer = await callAgent(deps.outbound, task.agent, {
    method: "POST",
    path: `/tasks/${encodeURIComponent(task.taskId)}:cancel`,
    body: Buffer.from(JSON.stringify(task.agent.tenant === null ? {} : { tenant: task.agent.tenant })),
    timeoutMs: pollTimeoutMs,
    isRepeatable: true,
  });
  if (answer.kind === "refused" && refusesToCancel(answer)) {
    return { kind: "not_cancelable", message: answer.message };
  }
  const canceled = doneOf(answer, "cancel the task");
  if (canceled.kind === "agent_failed") return canceled;
  const reading = readTaskOf(task.taskId, canceled.value, maskOf(task.agent));
  await record(deps, task, reading.ok ? reading.view : null);
  return withHandoff(deps, input, { kind: "asked" });
}

/** Statuses with which an agent refuses to cancel: the task cannot be canceled, is gone, or no task can be. */
const cancelRefusals = new Set([400, 404, 405, 409, 422, 501]);

/** Whether the agent refused the cancellation itself. After other refusals, such as 401 or 429, it was not asked yet. */
function refusesToCancel({ status, reason }: Refusal): boolean {
  return cancelRefusals.has(status) && reason !== "VERSION_NOT_SUPPORTED";
}

/** Finds the unfinished task of an event, as it was last recorded. */
async function findTask(
  deps: SteerDeps,
  { orgId, eventId }: { orgId: string; eventId: string },
): Promise<LiveTask | SteerRefusal> {
  if (!isId(eventId)) return { kind: "unknown" };
  const handoff = await readHandoff(deps.queries, orgId, eventId);
  if (handoff === undefined) return explainMissing(deps.queries, orgId, eventId);
  if (handoff.accepted_at === null) return { kind: "not_handed_over" };
  if (handoff.outcome !== null) return { kind: "ended", outcome: handoff.outcome };
  const agent = await loadAgent(deps.pool, deps.box, handoff.target_id);
  if (agent === undefined) return { kind: "target_deleted" };
  return { kind: "live", eventId, agent, handoff, taskId: handoff.task_id! };
}

/** Updates a task from the agent. A task that cannot be read is an error, or, unless it must be readable, is not updated. */
async function refreshTask(
  deps: SteerDeps,
  task: LiveTask,
  { mustBeReadable }: { mustBeReadable: boolean },
): Promise<LiveTask | SteerRefusal> {
  const { agent, handoff, taskId } = task;
  const valueOf = mustBeReadable ? successOf : doneOf;
  const shownTask = valueOf(await getTask(deps.outbound, agent, taskId), "show its task");
  if (shownTask.kind === "agent_failed") return shownTask;
  const reading = readTaskOf(taskId, shownTask.value, maskOf(agent));
  if (!reading.ok && !mustBeReadable) return task;
  if (!reading.ok) return { kind: "agent_failed", message: `the agent's answer ${reading.problem}` };
  if (reading.view.fingerprint === handoff.fingerprint) return task;
  await record(deps, task, reading.view);
  const present = (await readHandoff(deps.queries, handoff.org_id, task.eventId)) ?? handoff;
  return present.outcome === null
    ? { ...task, handoff: present }
    : { kind: "ended", outcome: present.outcome };
}

async function explainMissing(queries: Queries, orgId: string, eventId: string): Promise<SteerRefusal> {
  const event = await queries
    .selectFrom("events")
    .select("kind")
    .where("org_id", "=", orgId)
    .where("id", "=", eventId)
    .executeTakeFirst();
  if (event === undefined) return { kind: "unknown" };
  return { kind: isHandoff(event.kind) ? "not_handed_over" : "not_for_an_agent" };
}

/** Returns the id of the message to send, or `known` if the task already has the message. */
async function identify(
  deps: SteerDeps,
  task: LiveTask,
  key: string | null,
): Promise<{ kind: "new"; id: string } | { kind: "known" } | AgentFailure> {
  if (key === null) return { kind: "new", id: newRootId(deps.nowMs()) };
  const id = createHash("sha256").update(`${task.eventId} ${key}`).digest("hex").slice(0, 32);
  const answer = await getTask(deps.outbound, task.agent, task.taskId, historyLength);
  const shownTask = successOf(answer, "show its task");
  if (shownTask.kind === "agent_failed") return shownTask;
  if (!isJsonObject(shownTask.value)) {
    return { kind: "agent_failed", message: "the agent's answer has no task at $" };
  }
  return hasMessage(shownTask.value, id) === true ? { kind: "known" } : { kind: "new", id };
}

type AgentFailure = Extract<SteerRefusal, { kind: "agent_failed" }>;

/** The value of a successful answer, or an error that names `what` the agent did not do, and why. */
function successOf(answer: AgentAnswer, what: string): { kind: "success"; value: unknown } | AgentFailure {
  switch (answer.kind) {
    case "answered":
      return { kind: "success", value: answer.value };
    case "garbled":
      return { kind: "agent_failed", message: `the agent's answer ${answer.problem}` };
    case "refused":
      return { kind: "agent_failed", message: `the agent did not ${what}: ${answer.message}` };
    case "failed":
      return { kind: "agent_failed", message: `the agent did not ${what}: ${answer.error.message}` };
  }
}

/** The same for a request that the agent has carried out even if its answer is not JSON or too large; the value is then undefined. */
const doneOf: typeof successOf = (answer, what) =>
  answer.kind === "garbled" ? { kind: "success", value: undefined } : successOf(answer, what);

/** Records the state of the task and schedules an early poll. */
async function record(deps: SteerDeps, { eventId, agent }: LiveTask, view: TaskView | null): Promise<void> {
  await recordHandoff(deps, { eventId, targetId: agent.targetId, view });
}
