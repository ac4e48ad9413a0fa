import { isDeeperThan, isJsonObject, type JsonObject } from "../../http/contract/json.ts";
import type { Outbound } from "../../outbound/outbound.ts";
import type { Agent } from "./agent.ts";
import { type AgentAnswer, callAgent } from "./callAgent.ts";

/** Metadata that is sent with an item's payload. */
export interface MessageParts {
  /** Stable per item, so that a message sent twice can be recognized. */
  messageId: string;
  payload: Buffer;
  metadata: Record<string, string>;
  /** The task and context that the message belongs to; a first message has neither. */
  taskId?: string | null;
  contextId?: string | null;
}

export interface OutgoingMessage {
  json: Buffer;
  extensions: string[];
}

/**
 * Sends an item as a message (A2A 1.0, section 3.1.1). Two messages make two tasks, even under one id, so a request is not
 * repeated.
 * @param notifyAt The address at which the agent notifies of the task, where it can.
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
      // Without this, the agent answers only when its work is done.
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
/** A message that nests deeper is passed on as data: it would have to be written anew, which recurses. */
const maxDepth = 500;

/**
 * An item as an A2A message (1.0, section 4.1.4). A payload that is a message of a user passes through, under our
 * own id; a string, or an object with nothing but `text` (and `event_type`), becomes a text part; everything else a
 * data part, whose bytes are the payload's own. No number changes on the way.
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
  const { messageId, metadata, extensions } = message;
  const own = membersOf(text).findLast(([name]) => name === "metadata");
  const json = withMembers(text, {
    ...ids,
    messageId: input.messageId,
    metadata: new JsonText(
      withMembers(isJsonObject(metadata) ? own![1] : "{}", {
        ...(typeof messageId === "string" && { original_message_id: messageId }),
        ...input.metadata,
      }),
    ),
  });
  const named = Array.isArray(extensions) ? extensions : [];
  return {
    json: Buffer.from(json),
    extensions: named.filter((uri): uri is string => typeof uri === "string").slice(0, maxExtensions),
  };
}

/** A value that is JSON already. */
class JsonText {
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}

/** A JSON object with some members replaced or added; the others stay as they are written. */
function withMembers(text: string, added: Readonly<Record<string, string | JsonText>>): string {
  const kept = membersOf(text).filter(([name]) => !Object.hasOwn(added, name));
  const ours = Object.entries(added).map(([name, value]): Member => [
    name,
    value instanceof JsonText ? value.json : JSON.stringify(value),
  ]);
  return `{${[...kept, ...ours].map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`;
}

type Member = [name: string, json: string];

/** The members of a JSON object, which has to be valid, with their values as they are written. */
function membersOf(text: string): Member[] {
  const members: Member[] = [];
  let [depth, from, colon] = [0, 0, 0];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = endOfText(text, at);
    else if (character === "{" || character === "[") {
      if (++depth === 1) from = at + 1;
    } else if (character === ":" && depth === 1) colon = at;
    else if (depth === 1 && (character === "," || character === "}")) {
      if (colon > from) {
        members.push([JSON.parse(text.slice(from, colon)) as string, text.slice(colon + 1, at).trim()]);
      }
      from = at + 1;
    } else if (character === "}" || character === "]") depth--;
  }
  return members;
}

/** Where the text that begins at a quotation mark ends. */
function endOfText(text: string, begin: number): number {
  let at = begin + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at;
}

const contents = ["text", "raw", "url", "data"];

/** Whether a payload is a message: it has a role, besides parts, which other data may have, too. */
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
