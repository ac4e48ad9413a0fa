import { isHandoff } from "../../postgres/kinds.ts";
import { createHash } from "node:crypto";
import { isId, newRootId } from "../../postgres/ids.ts";
import type { HandoffRow, Queries } from "../../postgres/tables.ts";
import { ApiError, notFound } from "../../http/contract/errors.ts";
import type { SecretBox } from "../../items/secretBox.ts";
import { type Agent, loadAgent, maskOf } from "../agent/agent.ts";
import { type AgentAnswer, callAgent } from "../agent/callAgent.ts";
import { type FollowDeps, getTask, pollTimeoutMs } from "./followTask.ts";
import { type HandoffAnswer, handoffAnswer, readHandoff } from "../record/handoffAnswer.ts";
import { recordHandoff } from "../record/handoffStore.ts";
import { toMessage } from "../agent/message.ts";
import { deadlineMs, firstPollMs } from "../record/pollSchedule.ts";
import { isInterrupted, readSendAnswer, readTask, type TaskView } from "../agent/readTask.ts";

export interface SteerDeps extends FollowDeps {
  queries: Queries;
  box: SecretBox;
}

/** A task that has not ended, with the agent that works on it. */
interface LiveTask {
  eventId: string;
  agent: Agent;
  handoff: HandoffRow;
  taskId: string;
}

/** History that is searched for a message which may have been sent before. */
const historyLength = 50;

/**
 * Answers a task that waits for input (A2A 1.0, section 3.4.3). `key` makes the message the same when it is sent
 * again, so that it is not answered twice.
 * @throws {ApiError} 404, 409 when the task does not wait, 502 when the agent did not take the message.
 */
export async function answerTask(
  deps: SteerDeps,
  input: { orgId: string; eventId: string; payload: Buffer; key: string | null },
): Promise<{ handoff: HandoffAnswer; isReplayed: boolean }> {
  const task = await findLiveTask(deps, input.orgId, input.eventId);
  const { messageId, isKnown } = await identify(deps, task, input.key);
  if (isKnown) return { handoff: await shown(deps, input), isReplayed: true };
  if (!isInterrupted(task.handoff.state)) {
    throw new ApiError(409, `the task does not wait for input: it is ${task.handoff.state}`);
  }
  const message = toMessage({
    messageId,
    payload: input.payload,
    metadata: { event_id: input.eventId },
    taskId: task.taskId,
    contextId: task.handoff.context_id,
  });
  const { tenant } = task.agent;
  const head = {
    ...(tenant !== null && { tenant }),
    configuration: { returnImmediately: true, historyLength: 0 },
  };
  const answer = await callAgent(deps.outbound, task.agent, {
    method: "POST",
    path: "/message:send",
    body: Buffer.concat([
      Buffer.from(`${JSON.stringify(head).slice(0, -1)},"message":`),
      message.json,
      Buffer.from("}"),
    ]),
    extensions: message.extensions,
    timeoutMs: pollTimeoutMs,
    isRepeatable: false,
  });
  const reading = readSendAnswer(successOf(answer, "take the message"), maskOf(task.agent));
  // Whatever else it answered, it has taken the message; what becomes of the task is seen by following it.
  const isSameTask = reading.ok && reading.view.taskId === task.taskId;
  await record(deps, task, isSameTask ? reading.view : null);
  return { handoff: await shown(deps, input), isReplayed: false };
}

/**
 * Asks the agent to cancel a task (section 3.1.5). The answer shows what became of it.
 * @throws {ApiError} 404, 409 when the task has ended or cannot be canceled, 502 when the agent did not answer.
 */
export async function cancelTask(
  deps: SteerDeps,
  input: { orgId: string; eventId: string },
): Promise<HandoffAnswer> {
  const task = await findLiveTask(deps, input.orgId, input.eventId);
  const answer = await callAgent(deps.outbound, task.agent, {
    method: "POST",
    path: `/tasks/${encodeURIComponent(task.taskId)}:cancel`,
    body: Buffer.from(JSON.stringify(task.agent.tenant === null ? {} : { tenant: task.agent.tenant })),
    timeoutMs: pollTimeoutMs,
    isRepeatable: true,
  });
  if (answer.kind === "refused" && answer.status < 500) {
    throw new ApiError(409, `the task cannot be canceled: ${answer.message}`);
  }
  const reading = readTask(successOf(answer, "cancel the task"), maskOf(task.agent));
  await record(deps, task, reading.ok ? reading.view : null);
  return shown(deps, input);
}

/** The task of an event as its agent has it now. @throws {ApiError} 404, 409 when there is nothing to steer, 502. */
async function findLiveTask(deps: SteerDeps, orgId: string, eventId: string): Promise<LiveTask> {
  if (!isId(eventId)) throw notFound();
  const handoff = await readHandoff(deps.queries, orgId, eventId);
  if (handoff === undefined) throw await explainMissing(deps.queries, orgId, eventId);
  if (handoff.accepted_at === null) throw new ApiError(409, "the item has not been handed over yet");
  refuseEnded(handoff);
  const agent = await loadAgent(deps.pool, deps.box, handoff.target_id);
  if (agent === undefined) throw new ApiError(409, "the target of this event was deleted");
  const taskId = handoff.task_id!;
  const task = { eventId, agent, handoff, taskId };
  const shownTask = successOf(await getTask(deps.outbound, agent, taskId), "show its task");
  const reading = readTask(shownTask, maskOf(agent));
  if (!reading.ok) throw new ApiError(502, `the agent's answer ${reading.problem}`);
  if (reading.view.fingerprint === handoff.fingerprint) return task;
  await record(deps, task, reading.view);
  const present = (await readHandoff(deps.queries, orgId, eventId)) ?? handoff;
  refuseEnded(present);
  return { ...task, handoff: present };
}

function refuseEnded({ outcome }: HandoffRow): void {
  if (outcome === "UNKNOWN")
    throw new ApiError(409, "the task is no longer followed: its outcome is UNKNOWN");
  if (outcome !== null) throw new ApiError(409, `the task has ended: ${outcome}`);
}

async function explainMissing(queries: Queries, orgId: string, eventId: string): Promise<ApiError> {
  const event = await queries
    .selectFrom("events")
    .select("kind")
    .where("org_id", "=", orgId)
    .where("id", "=", eventId)
    .executeTakeFirst();
  if (event === undefined) return notFound();
  return isHandoff(event.kind)
    ? new ApiError(409, "the item has not been handed over yet")
    : new ApiError(409, "only items of a2a targets are handed to an agent");
}

/** The message's id, and whether the task has it already. */
async function identify(
  deps: SteerDeps,
  task: LiveTask,
  key: string | null,
): Promise<{ messageId: string; isKnown: boolean }> {
  if (key === null) return { messageId: newRootId(deps.nowMs()), isKnown: false };
  const messageId = createHash("sha256").update(`${task.eventId} ${key}`).digest("hex").slice(0, 32);
  const answer = await getTask(deps.outbound, task.agent, task.taskId, historyLength);
  const { history } = successOf(answer, "show its task") as { history?: unknown };
  const isKnown =
    Array.isArray(history) &&
    history.some((one: unknown) => (one as { messageId?: unknown } | null)?.messageId === messageId);
  return { messageId, isKnown };
}

/** @throws {ApiError} 502 that says what the agent did not do, and why. */
function successOf(answer: AgentAnswer, what: string): unknown {
  switch (answer.kind) {
    case "answered":
      return answer.value;
    case "garbled":
      throw new ApiError(502, `the agent's answer ${answer.problem}`);
    case "refused":
      throw new ApiError(502, `the agent did not ${what}: ${answer.message}`);
    case "failed":
      throw new ApiError(502, `the agent did not ${what}: ${answer.error.message}`);
  }
}

/** Writes down what was seen, and has the task looked at soon. */
async function record(deps: SteerDeps, task: LiveTask, view: TaskView | null): Promise<void> {
  await recordHandoff(deps, {
    eventId: task.eventId,
    targetId: task.agent.targetId,
    view,
    outcome: view?.outcome ?? null,
    pollInMs: firstPollMs(view === null ? null : view.state),
    deadlineInMs: deadlineMs(view === null ? null : view.state, deps.quietMs),
  });
}

async function shown(deps: SteerDeps, input: { orgId: string; eventId: string }): Promise<HandoffAnswer> {
  const answer = handoffAnswer(await readHandoff(deps.queries, input.orgId, input.eventId));
  if (answer === null) throw notFound();
  return answer;
}
