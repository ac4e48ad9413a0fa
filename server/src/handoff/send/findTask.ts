import type { Outbound } from "../../outbound/outbound.ts";
import { type Agent, maskOf } from "../agent/agent.ts";
import { type AgentAnswer, callAgent } from "../agent/callAgent.ts";
import { hasMessage, readTask, type TaskView } from "../agent/readTask.ts";

/** The result of a search in the agent's task list for a message whose answer was lost. */
export type TaskSearch =
  | { kind: "found"; view: TaskView }
  /** The whole list was read, and no task has the message. */
  | { kind: "absent" }
  /** The agent has no list that could show the message. */
  | { kind: "unknowable"; reason: string }
  /** The list could not be read now. */
  | { kind: "unavailable"; reason: string };

/** The list is requested from this long before the message was sent, because clocks differ. */
const clockMarginMs = 10 * 60_000;
const pageSizes = [50, 5];
const maxPages = 40;
const historyLength = 100;

type Page = { tasks: unknown[]; nextPageToken: string };

/**
 * Searches the histories of the agent's tasks for the message's id (A2A 1.0, section 3.1.4). `timeoutMs` applies to all pages
 * together.
 */
export async function findTask(
  outbound: Outbound,
  agent: Agent,
  search: { messageId: string; sinceMs: number; traceparent?: string | undefined; timeoutMs: number },
): Promise<TaskSearch> {
  const deadlineMs = performance.now() + search.timeoutMs;
  let pageToken = "";
  let pageSize = pageSizes[0]!;
  let tasksSeen = 0;
  let historiesSeen = 0;
  for (let page = 0; page < maxPages; page++) {
    const leftMs = deadlineMs - performance.now();
    if (leftMs < 1) return { kind: "unavailable", reason: "the task list is too long to read in time" };
    const answer = await callAgent(outbound, agent, {
      method: "GET",
      path: "/tasks",
      query: {
        statusTimestampAfter: new Date(search.sinceMs - clockMarginMs).toISOString(),
        historyLength: String(historyLength),
        pageSize: String(pageSize),
        ...(pageToken !== "" && { pageToken }),
      },
      traceparent: search.traceparent,
      timeoutMs: leftMs,
      isRepeatable: true,
    });
    const read = readPage(answer);
    if (read === "too large") {
      // Histories may be long, so that fewer tasks fit into one answer.
      const smaller = pageSizes.find((size) => size < pageSize);
      if (smaller === undefined) return { kind: "unknowable", reason: "the agent's task list is too large" };
      pageSize = smaller;
      continue;
    }
    if ("kind" in read) return read;
    for (const task of read.tasks) {
      const isFound = hasMessage(task, search.messageId);
      tasksSeen++;
      if (isFound === undefined) continue;
      historiesSeen++;
      if (!isFound) continue;
      const reading = readTask(task, maskOf(agent));
      if (reading.ok) return { kind: "found", view: reading.view };
      // The agent has the message, so sending it again would create another task.
      return { kind: "unavailable", reason: `the agent's task list shows a task that ${reading.problem}` };
    }
    if (read.nextPageToken === "") {
      if (historiesSeen === tasksSeen) return { kind: "absent" };
      return unknowable("the agent's task list shows tasks without their messages");
    }
    pageToken = read.nextPageToken;
  }
  return { kind: "unknowable", reason: "the agent's task list is too long" };
}

function readPage(answer: AgentAnswer): Page | TaskSearch | "too large" {
  switch (answer.kind) {
    case "answered": {
      const { tasks, nextPageToken } = (answer.value ?? {}) as { tasks?: unknown; nextPageToken?: unknown };
      if (!Array.isArray(tasks)) return unknowable("the agent's task list has no $.tasks");
      return { tasks, nextPageToken: typeof nextPageToken === "string" ? nextPageToken : "" };
    }
    case "garbled":
      if (answer.problem.startsWith("is larger")) return "too large";
      return unknowable(`the agent's task list ${answer.problem}`);
    case "refused":
      return hasNoList(answer.status)
        ? unknowable(`the agent has no task list (${answer.message})`)
        : { kind: "unavailable", reason: answer.message };
    case "failed":
      return { kind: "unavailable", reason: answer.error.message };
  }
}

/** Whether a repeated request would get this status again, unlike statuses for overload, errors and wrong credentials. */
function hasNoList(status: number): boolean {
  return status === 400 || status === 404 || status === 405 || status === 410 || status === 501;
}

function unknowable(reason: string): TaskSearch {
  return { kind: "unknowable", reason };
}
