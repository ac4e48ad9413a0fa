import { createHash } from "node:crypto";
import type { CredentialMask } from "./agent.ts";
import { isJsonObject } from "../../http/contract/json.ts";

/** The fields of a task that the service stores, or those of a message that the agent answered with instead of a task. */
export interface TaskView {
  taskId: string | null;
  contextId: string | null;
  /** Without the protocol's prefix; null if the answer was a message. */
  state: string | null;
  /** Text of the status message, or of the message that was the answer. */
  statusMessage: string | null;
  /** JSON text of that message's parts. */
  statusParts: string | null;
  /** JSON text. */
  artifacts: string | null;
  /** Whether parts were left out because of their size. */
  isTruncated: boolean;
  /** The task's outcome; null while it has not ended. */
  outcome: Outcome | null;
  /** Digest of the agent's complete answer, including the parts that were left out. */
  fingerprint: string;
}

export type Outcome = "COMPLETED" | "FAILED" | "CANCELED" | "REJECTED" | "UNKNOWN";

/** `problem` completes a sentence that begins with `the agent's answer`. */
export type Reading = { ok: true; view: TaskView } | { ok: false; problem: string };

const maxIdLength = 512;
const maxTextLength = 4_096;
const maxStatusBytes = 16 * 1024;
const maxArtifactBytes = 64 * 1024;

/**
 * Reads the answer to a message (A2A 1.0, section 3.1.1): `{task}` or `{message}`.
 * @param mask Hides the agent's credential in the stored texts; ids and states are stored unmasked.
 */
export function readSendAnswer(value: unknown, mask: CredentialMask): Reading {
  if (!isJsonObject(value)) return wrong("is not a JSON object");
  // Some libraries write null for the absent one of the two.
  const { task = null, message = null } = value;
  if (task !== null) return readTask(task, mask, "$.task");
  if (message !== null) return readMessage(message, mask);
  return wrong("has neither $.task nor $.message");
}

/** Reads the answer to a request for the task with this id. A faulty agent may return another task. */
export function readTaskOf(taskId: string, task: unknown, mask: CredentialMask): Reading {
  const reading = readTask(task, mask);
  return reading.ok && reading.view.taskId !== taskId ? wrong("is about another task") : reading;
}

/** Reads a task (section 4.1.1). A task in an unknown state counts as not ended. */
export function readTask(task: unknown, mask: CredentialMask, path: string = "$"): Reading {
  if (!isJsonObject(task)) return wrong(`has no task at ${path}`);
  const taskId = readId(task["id"]);
  if (taskId === null) return wrong(`has no usable ${path}.id`);
  const status = task["status"];
  if (!isJsonObject(status)) return wrong(`has no ${path}.status`);
  const state = status["state"];
  if (typeof state !== "string" || !/^[A-Z][A-Z0-9_]{0,63}$/.test(state)) {
    return wrong(`has no task state at ${path}.status.state`);
  }
  const message = isJsonObject(status["message"]) ? status["message"] : {};
  const parts = mask.value(message["parts"]);
  const said = keepParts(parts, maxStatusBytes);
  const artifacts = keepArtifacts(mask.value(task["artifacts"]));
  const shortState = state.replace(/^TASK_STATE_/, "");
  return {
    ok: true,
    view: {
      taskId,
      contextId: readId(task["contextId"]),
      state: shortState,
      statusMessage: textOf(parts),
      statusParts: said.json,
      artifacts: artifacts.json,
      isTruncated: said.isTruncated || artifacts.isTruncated,
      outcome: outcomeOf(shortState),
      fingerprint: fingerprint([state, message["parts"], task["artifacts"]]),
    },
  };
}

/** Whether a task's history has a message with this id; undefined if the task has no history. */
export function hasMessage(task: unknown, messageId: string): boolean | undefined {
  const history = isJsonObject(task) ? task["history"] : undefined;
  if (!Array.isArray(history)) return undefined;
  return history.some((message: unknown) => isJsonObject(message) && message["messageId"] === messageId);
}

/** Whether the task waits for input from its client (section 4.1.3). */
export function isInterrupted(state: string | null): boolean {
  return state === "INPUT_REQUIRED" || state === "AUTH_REQUIRED";
}

/** Reads a message as the answer: the agent has done its work, and there is no task to follow. */
function readMessage(message: unknown, mask: CredentialMask): Reading {
  if (!isJsonObject(message) || !Array.isArray(message["parts"])) return wrong("has no $.message.parts");
  const parts = mask.value(message["parts"]);
  const kept = keepParts(parts, maxArtifactBytes);
  return {
    ok: true,
    view: {
      taskId: null,
      contextId: readId(message["contextId"]),
      state: null,
      statusMessage: textOf(parts),
      statusParts: kept.json,
      artifacts: null,
      isTruncated: kept.isTruncated,
      outcome: "COMPLETED",
      fingerprint: fingerprint([null, message["parts"], null]),
    },
  };
}

function outcomeOf(state: string): Outcome | null {
  switch (state) {
    case "COMPLETED":
    case "FAILED":
    case "CANCELED":
    case "REJECTED":
      return state;
    default:
      return null;
  }
}

/** Checks an id. It becomes a segment of a URL, where `.` and `..` would have another meaning. */
function readId(value: unknown): string | null {
  if (typeof value !== "string" || value === "" || value.length > maxIdLength) return null;
  if (/[\p{Cc}\p{Cs}]/u.test(value) || /^\.{1,2}$/.test(value)) return null;
  return value;
}

function textOf(parts: unknown): string | null {
  if (!Array.isArray(parts)) return null;
  const texts = parts.flatMap((part: unknown) =>
    isJsonObject(part) && typeof part["text"] === "string" ? [part["text"]] : [],
  );
  if (texts.length === 0) return null;
  const text = texts.join("\n").replaceAll("\0", "\ufffd").toWellFormed();
  return text.length > maxTextLength ? `${text.slice(0, maxTextLength - 1).toWellFormed()}…` : text;
}

interface Kept {
  json: string | null;
  isTruncated: boolean;
}

/** Keeps the parts that fit into the limit, in their order. */
function keepParts(parts: unknown, limitBytes: number): Kept {
  if (!Array.isArray(parts) || parts.length === 0) return { json: null, isTruncated: false };
  const kept: string[] = [];
  let leftBytes = limitBytes;
  for (const part of parts as unknown[]) {
    const json = JSON.stringify(part);
    const bytes = Buffer.byteLength(json) + 1;
    if (bytes > leftBytes) continue;
    leftBytes -= bytes;
    kept.push(json);
  }
  return { json: `[${kept.join(",")}]`, isTruncated: kept.length < parts.length };
}

/**
 * Keeps artifacts in their order, each with the parts that fit. An artifact whose fields without parts are too large is left
 * out.
 */
function keepArtifacts(artifacts: unknown): Kept {
  if (!Array.isArray(artifacts) || artifacts.length === 0) return { json: null, isTruncated: false };
  const kept: string[] = [];
  let isTruncated = false;
  let leftBytes = maxArtifactBytes;
  for (const artifact of artifacts as unknown[]) {
    if (!isJsonObject(artifact)) continue;
    const { parts, ...description } = artifact;
    const head = JSON.stringify(description);
    const headBytes = Buffer.byteLength(head) + 16;
    if (headBytes > leftBytes) {
      isTruncated = true;
      continue;
    }
    const keptParts = keepParts(parts, leftBytes - headBytes);
    isTruncated ||= keptParts.isTruncated;
    const json = `${head.slice(0, -1)}${head === "{}" ? "" : ","}"parts":${keptParts.json ?? "[]"}}`;
    leftBytes -= Buffer.byteLength(json) + 1;
    kept.push(json);
  }
  return { json: `[${kept.join(",")}]`, isTruncated };
}

function fingerprint(seen: unknown): string {
  return createHash("sha256").update(JSON.stringify(seen)).digest("base64url").slice(0, 22);
}

function wrong(problem: string): Reading {
  return { ok: false, problem };
}
