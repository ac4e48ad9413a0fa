import type { Outbound } from "../../outbound/outbound.ts";
import { isJsonObject, type JsonObject } from "../../http/contract/json.ts";
import type { ExchangeError } from "../../outbound/exchangeResult.ts";
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
/** Number of messages of each task in the list, the newest. */
const historyLength = 100;
/** A task with more messages is read alone with this many; so many tasks at most. */
const whole = { historyLength: 10_000, maxTasks: 20 };

interface Search {
  messageId: string;
  sinceMs: number;
  traceparent?: string | undefined;
  timeoutMs: number;
}

type Page = { tasks: unknown[]; nextPageToken: string };

/**
 * Searches the histories of the agent's tasks for the message's id (A2A 1.0, section 3.1.4). `timeoutMs` applies to all requests
 * together.
 */
export async function findTask(outbound: Outbound, agent: Agent, search: Search): Promise<TaskSearch> {
  const get = createReader(outbound, agent, search);
  let pageToken = "";
  let pageSize = pageSizes[0]!;
  let isHidden = false;
  let wholeReads = 0;
  for (let page = 0; page < maxPages; page++) {
    const read = readPage(
      await get("/tasks", {
        statusTimestampAfter: new Date(search.sinceMs - clockMarginMs).toISOString(),
        historyLength: String(historyLength),
        pageSize: String(pageSize),
        ...(pageToken !== "" && { pageToken }),
      }),
    );
    if (read === "too large") {
      // Histories may be long, so that fewer tasks fit into one answer.
      const smaller = pageSizes.find((size) => size < pageSize);
      if (smaller === undefined) return { kind: "unknowable", reason: "the agent's task list is too large" };
      pageSize = smaller;
      continue;
    }
    if ("kind" in read) return read;
    for (const task of read.tasks) {
      let isFound = hasMessage(task, search.messageId);
      if (isFound === false && isCut(task, historyLength)) {
        const more = wholeReads++ < whole.maxTasks ? await readWhole(get, task, search.messageId) : undefined;
        if (typeof more === "object") return more;
        isFound = more;
      }
      isHidden ||= isFound === undefined;
      if (isFound !== true) continue;
      const reading = readTask(task, maskOf(agent));
      if (reading.ok) return { kind: "found", view: reading.view };
      // The agent has the message, so sending it again would create another task.
      return unavailable(`the agent's task list shows a task that ${reading.problem}`);
    }
    if (read.nextPageToken === "") {
      return isHidden ? unknowable("the agent does not show all messages of its tasks") : { kind: "absent" };
    }
    pageToken = read.nextPageToken;
  }
  return { kind: "unknowable", reason: "the agent's task list is too long" };
}

type Get = (path: string, query: Readonly<Record<string, string>>) => Promise<AgentAnswer>;

const tooLate: ExchangeError = {
  kind: "error",
  code: "timeout",
  message: "the task list is too long to read in time",
  durationMs: 0,
  sent: false,
};

/** Returns a function that reads from the agent until the time of the search is over. */
function createReader(outbound: Outbound, agent: Agent, { traceparent, timeoutMs }: Search): Get {
  const deadlineMs = performance.now() + timeoutMs;
  return async (path, query) => {
    const leftMs = deadlineMs - performance.now();
    if (leftMs < 1) return { kind: "failed", error: tooLate };
    return callAgent(outbound, agent, {
      method: "GET",
      path,
      query,
      traceparent,
      timeoutMs: leftMs,
      isRepeatable: true,
    });
  };
}

/** Whether older messages of the task may have been left out, because it has as many as were requested. */
function isCut(task: unknown, requested: number): task is JsonObject & { history: unknown[] } {
  const history = isJsonObject(task) ? task["history"] : undefined;
  return Array.isArray(history) && history.length >= requested;
}

/**
 * Whether the whole history of a task has the message; undefined if the agent does not show all of the history. An agent that
 * shows no more messages than in its list may have a limit of its own.
 */
async function readWhole(
  get: Get,
  { id, history }: { id?: unknown; history: readonly unknown[] },
  messageId: string,
): Promise<boolean | undefined | TaskSearch> {
  const path = `/tasks/${encodeURIComponent(String(id))}`;
  const answer = await get(path, { historyLength: String(whole.historyLength) });
  if (answer.kind === "failed") return unavailable(answer.error.message);
  if (answer.kind === "refused" && !hasNoList(answer.status)) return unavailable(answer.message);
  if (answer.kind !== "answered") return undefined;
  const isFound = hasMessage(answer.value, messageId);
  const isWhole = isCut(answer.value, history.length + 1) && !isCut(answer.value, whole.historyLength);
  return isFound === false && !isWhole ? undefined : isFound;
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
        : unavailable(answer.message);
    case "failed":
      return unavailable(answer.error.message);
  }
}

/** Whether a repeated request would get this status again, unlike statuses for overload, errors and wrong credentials. */
function hasNoList(status: number): boolean {
  return status === 400 || status === 404 || status === 405 || status === 410 || status === 501;
}

function unknowable(reason: string): TaskSearch {
  return { kind: "unknowable", reason };
}

function unavailable(reason: string): TaskSearch {
  return { kind: "unavailable", reason };
}
