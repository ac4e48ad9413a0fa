import { isDeeperThan, isJsonObject, type JsonObject } from "../../http/contract/json.ts";
import type { Outbound } from "../../outbound/outbound.ts";
import type { Agent } from "./agent.ts";
import { type AgentAnswer, callAgent } from "./callAgent.ts";

export interface MessageParts {
  /** The same for every attempt of an item, so that a message sent twice can be recognized. */
  messageId: string;
  payload: Buffer;
  metadata: Record<string, string>;
  /** The task and context that the message belongs to; absent in a first message. */
  taskId?: string | null;
  contextId?: string | null;
}

export interface OutgoingMessage {
  json: Buffer;
  extensions: string[];
}

/**
 * Sends an item as a message (A2A 1.0, section 3.1.1). Two messages create two tasks, even with the same id, so the request is
 * never repeated automatically.
 * @param notifyAt The address to which the agent sends notifications about the task, if it supports them.
 */
export function sendMessage(
  outbound: Outbound,
  agent: Agent,
  input: MessageParts,
  options: { timeoutMs: number; traceparent?: string | undefined; notifyAt?: string | undefined },
): Promise<AgentAnswer> {
  const { timeoutMs, traceparent, notifyAt } = options;
  const message = toMessage(input);
  const head = {
    ...(agent.tenant !== null && { tenant: agent.tenant }),
    configuration: {
      // Without this, the agent would answer only after its work is done.
      returnImmediately: true,
      historyLength: 0,
      ...(notifyAt !== undefined && { taskPushNotificationConfig: { url: notifyAt } }),
    },
  };
  return callAgent(outbound, agent, {
    method: "POST",
    path: "/message:send",
    body: Buffer.concat([
      Buffer.from(`${JSON.stringify(head).slice(0, -1)},"message":`),
      message.json,
      Buffer.from("}"),
    ]),
    extensions: message.extensions,
    traceparent,
    timeoutMs,
    isRepeatable: false,
  });
}

const maxExtensions = 20;
/** A message that nests deeper is passed on as data, because serializing it again is recursive. */
const maxDepth = 500;

/**
 * Converts an item into an A2A message (1.0, section 4.1.4). A payload that is already a user message passes through with our
 * own id. A string, or an object with only `text` (and `event_type`), becomes a text part. Anything else becomes a data part
 * with the payload's bytes. No number changes.
 */
export function toMessage(input: MessageParts): OutgoingMessage {
  const text = input.payload.toString("utf8").replace(/^\ufeff/, "");
  const value: unknown = JSON.parse(text);
  const ids = {
    ...(input.taskId && { taskId: input.taskId }),
    ...(input.contextId && { contextId: input.contextId }),
  };
  if (isUserMessage(value) && !isDeeperThan(maxDepth, input.payload)) {
    return passThrough(value, text, input, ids);
  }
  const envelope = {
    messageId: input.messageId,
    role: "ROLE_USER",
    ...ids,
    metadata: input.metadata,
  };
  const said = spokenText(value);
  const part =
    said === undefined
      ? `{"data":${text},"mediaType":"application/json"}`
      : JSON.stringify({ text: said, mediaType: "text/plain" });
  const json = `${JSON.stringify(envelope).slice(0, -1)},"parts":[${part}]}`;
  return { json: Buffer.from(json), extensions: [] };
}

function passThrough(message: JsonObject, text: string, input: MessageParts, ids: object): OutgoingMessage {
  const { messageId, extensions } = message;
  const exact = parseExactly(text);
  const metadata = {
    ...(isJsonObject(message["metadata"]) && (exact["metadata"] as JsonObject)),
    ...(typeof messageId === "string" && { original_message_id: messageId }),
    ...input.metadata,
  };
  const json = { ...exact, ...ids, messageId: input.messageId, metadata };
  const named = Array.isArray(extensions) ? extensions : [];
  return {
    json: Buffer.from(JSON.stringify(json)),
    extensions: named.filter((uri): uri is string => typeof uri === "string").slice(0, maxExtensions),
  };
}

/** JSON with source text access (ECMAScript 2026), which TypeScript's types do not have yet. */
const exactJson = JSON as unknown as {
  parse: (
    text: string,
    revive: (key: string, value: unknown, at: { source: string }) => unknown,
  ) => JsonObject;
  rawJSON: (text: string) => unknown;
};

/** Parses an object so that `JSON.stringify` writes its numbers as they were written; JavaScript numbers would round some. */
function parseExactly(text: string): JsonObject {
  return exactJson.parse(text, (_, value, { source }) =>
    typeof value === "number" ? exactJson.rawJSON(source) : value,
  );
}

const contents = ["text", "raw", "url", "data"];

/** Whether a payload is a message. The role is required, because other data may have parts too. */
function isUserMessage(value: unknown): value is JsonObject {
  if (!isJsonObject(value) || value["role"] !== "ROLE_USER") return false;
  const { parts } = value;
  if (!Array.isArray(parts) || parts.length === 0) return false;
  return parts.every(
    (part: unknown) =>
      isJsonObject(part) && contents.filter((content) => Object.hasOwn(part, content)).length === 1,
  );
}

function spokenText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (!isJsonObject(value) || typeof value["text"] !== "string") return undefined;
  const hasMore = Object.keys(value).some((name) => name !== "text" && name !== "event_type");
  return hasMore ? undefined : value["text"];
}
