import { createHash } from "node:crypto";
import { newRootId } from "../../postgres/ids.ts";
import { isHandoff } from "../../postgres/kinds.ts";
import type { HandoffRow, Queries } from "../../postgres/tables.ts";
import { type Agent, loadAgent, maskOf } from "../agent/agent.ts";
import { type AgentAnswer, callAgent } from "../agent/callAgent.ts";
import { type FollowDeps, getTask, pollTimeoutMs } from "./followTask.ts";
import { type HandoffAnswer, handoffAnswer, readHandoff } from "../record/handoffAnswer.ts";
import { recordHandoff } from "../record/handoffStore.ts";
import { sendMessage } from "../agent/message.ts";
import { hasMessage, isInterrupted, readSendAnswer, readTaskOf, type TaskView } from "../agent/readTask.ts";
import type { Parts } from "../../items/parts.ts";
import { isJsonObject } from "../../http/contract/json.ts";
import { ApiError, found, notFound, idOf } from "../../http/contract/errors.ts";

export type SteerDeps = FollowDeps & Pick<Parts, "queries" | "box">;

/** A task that has not ended, with the agent that works on it. */
interface LiveTask {
  eventId: string;
  agent: Agent;
  handoff: HandoffRow;
  taskId: string;
}

/** The number of messages of a task's history that are searched for one that may have been sent before. */
const historyLength = 50;

/**
 * Answers a task that waits for input (A2A 1.0, section 3.4.3). `key` makes the message the same when it is sent
 * again, so that it is not answered twice.
 * @returns the handoff after it; `isReplayed` when the agent had taken the message from an earlier request of the same key.
 * @throws {ApiError} 404; 409 for a task that does not wait for input; 502 when the agent did not take the message.
 */
export async function answerTask(
  deps: SteerDeps,
  input: { orgId: string; eventId: string; payload: Buffer; key: string | null },
): Promise<{ handoff: HandoffAnswer; isReplayed: boolean }> {
  const task = await findLiveTask(deps, input.orgId, input.eventId);
  const messageId = await identify(deps, task, input.key);
  if (messageId === undefined) return { handoff: await shownHandoff(deps, input), isReplayed: true };
  const { state } = task.handoff;
  if (!isInterrupted(state)) throw new ApiError(409, `the task does not wait for input: it is ${state}`);
  const parts = {
    messageId,
    payload: input.payload,
    metadata: { event_id: task.eventId },
    taskId: task.taskId,
    contextId: task.handoff.context_id,
  };
  const answer = await sendMessage(deps.outbound, task.agent, parts, { timeoutMs: pollTimeoutMs });
  const reading = readSendAnswer(successOf(answer, "take the message"), maskOf(task.agent));
  // The agent has taken the message, also where its answer cannot be read; polls will show what becomes of the task.
  const isSameTask = reading.ok && reading.view.taskId === task.taskId;
  await record(deps, task, isSameTask ? reading.view : null);
  return { handoff: await shownHandoff(deps, input), isReplayed: false };
}

/** The handoff as it is shown now. @throws {ApiError} 404 when it was deleted meanwhile. */
async function shownHandoff(
  deps: SteerDeps,
  { orgId, eventId }: { orgId: string; eventId: string },
): Promise<HandoffAnswer> {
  return found(handoffAnswer(await readHandoff(deps.queries, orgId, eventId)) ?? undefined);
}

/**
 * Asks the agent to cancel a task (section 3.1.5).
 * @returns the handoff, which shows what became of the task.
 * @throws {ApiError} 404; 409 for a task that has ended, or that the agent cannot cancel; 502 when the agent did not answer.
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
  const reading = readTaskOf(task.taskId, successOf(answer, "cancel the task"), maskOf(task.agent));
  await record(deps, task, reading.ok ? reading.view : null);
  return shownHandoff(deps, input);
}

/** The task of an event as its agent has it now. */
async function findLiveTask(deps: SteerDeps, orgId: string, eventId: string): Promise<LiveTask> {
  const handoff = await readHandoff(deps.queries, orgId, idOf(eventId));
  if (handoff === undefined) throw await explainMissing(deps.queries, orgId, eventId);
  if (handoff.accepted_at === null) throw notHandedOver();
  refuseEnded(handoff);
  const agent = await loadAgent(deps.pool, deps.box, handoff.target_id);
  if (agent === undefined) throw new ApiError(409, "the target of this event was deleted");
  const taskId = handoff.task_id!;
  const task: LiveTask = { eventId, agent, handoff, taskId };
  const shownTask = successOf(await getTask(deps.outbound, agent, taskId), "show its task");
  const reading = readTaskOf(taskId, shownTask, maskOf(agent));
  if (!reading.ok) throw new ApiError(502, `the agent's answer ${reading.problem}`);
  if (reading.view.fingerprint === handoff.fingerprint) return task;
  await record(deps, task, reading.view);
  const present = (await readHandoff(deps.queries, orgId, eventId)) ?? handoff;
  refuseEnded(present);
  return { ...task, handoff: present };
}

/** @throws {ApiError} 409 for a task that has ended. */
function refuseEnded({ outcome }: HandoffRow): void {
  if (outcome === null) return;
  throw new ApiError(
    409,
    outcome === "UNKNOWN"
      ? "the task is no longer followed: its outcome is UNKNOWN"
      : `the task has ended: ${outcome}`,
  );
}

function notHandedOver(): ApiError {
  return new ApiError(409, "the item has not been handed over yet");
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
    ? notHandedOver()
    : new ApiError(409, "only items of a2a targets are handed to an agent");
}

/** The id of the message to send; undefined when the task has the message already. */
async function identify(deps: SteerDeps, task: LiveTask, key: string | null): Promise<string | undefined> {
  if (key === null) return newRootId(deps.nowMs());
  const id = createHash("sha256").update(`${task.eventId} ${key}`).digest("hex").slice(0, 32);
  const answer = await getTask(deps.outbound, task.agent, task.taskId, historyLength);
  const shownTask = successOf(answer, "show its task");
  if (!isJsonObject(shownTask)) throw new ApiError(502, "the agent's answer has no task at $");
  return hasMessage(shownTask, id) === true ? undefined : id;
}

/** The value that the agent answered with. @throws {ApiError} 502 that says what it did not do, and why. */
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

/** Records the task as it was seen, and plans an early look at it. */
async function record(deps: SteerDeps, { eventId, agent }: LiveTask, view: TaskView | null): Promise<void> {
  await recordHandoff(deps, { eventId, targetId: agent.targetId, view });
}
