import {
  compressionText,
  type ExchangeError,
  type ExchangeHeaders,
  type ExchangeResult,
  statusText,
} from "../../outbound/exchangeResult.ts";
import type { Outbound } from "../../outbound/outbound.ts";
import type { Agent, AgentCredential } from "./agent.ts";
import { isDeeperThan, isJsonObject } from "../../http/contract/json.ts";

export interface AgentCall {
  method: "GET" | "POST";
  /** The path below the interface's URL, with a leading slash; its segments are already encoded. */
  path: string;
  query?: Readonly<Record<string, string>>;
  body?: Buffer;
  extensions?: readonly string[];
  traceparent?: string | undefined;
  timeoutMs: number;
  /** Whether the request may arrive twice without harm. */
  isRepeatable: boolean;
}

/**
 * An agent's answer, classified by the rules of the protocol. `value` is the parsed JSON; `body` and `message` are for records,
 * with the credential masked.
 */
export type AgentAnswer =
  /** A success with a JSON body. */
  | { kind: "answered"; status: number; durationMs: number; value: unknown; body: Buffer }
  /** A success status with a body that does not follow the protocol; the agent may still have begun the work. */
  | { kind: "garbled"; status: number; durationMs: number; problem: string; body: Buffer }
  | Refusal
  | { kind: "failed"; error: ExchangeError };

export interface Refusal {
  kind: "refused";
  status: number;
  durationMs: number;
  /** The protocol's reason code, such as `TASK_NOT_FOUND`; null if the answer has none. */
  reason: string | null;
  message: string;
  retryAfter: string | null;
  body: Buffer;
}

/** Maximum number of bytes to read of an answer. Answers contain tasks with their artifacts. */
const answerLimitBytes = 4 * 1024 * 1024;
/** Maximum nesting of an answer, because the kept parts are processed recursively. */
const maxDepth = 500;
const maxMessageLength = 300;

/**
 * The media type of a request (A2A 1.0.1, section 11.1), and the one that older agents require (they answer 415 to the newer).
 */
const mediaType = "application/a2a+json";
const olderMediaType = "application/json";
/** Interfaces that require the older type, by outbound client. */
const olderInterfaces = new WeakMap<Outbound, Set<string>>();
const maxOlderInterfaces = 10_000;

/** Sends one request to an agent over HTTP+JSON (A2A 1.0, section 11). The promise never rejects. */
export async function callAgent(outbound: Outbound, agent: Agent, call: AgentCall): Promise<AgentAnswer> {
  const { credential } = agent;
  if ("fault" in credential) {
    return {
      kind: "failed",
      error: { kind: "error", code: "other", message: credential.fault, durationMs: 0, sent: false },
    };
  }
  const result = await request(outbound, agent, credential, call);
  if (result.kind === "error") return { kind: "failed", error: result };
  const { mask } = credential;
  const { status, durationMs } = result;
  const body = mask.bytes(result.body);
  const isTooDeep = isDeeperThan(maxDepth, result.body);
  const value = result.truncated || isTooDeep ? undefined : parseJson(result.body);
  if (status < 200 || status > 299) {
    const { message: said, details } = errorIn(value) as { message?: unknown; details?: unknown };
    return {
      kind: "refused",
      status,
      durationMs,
      reason: Array.isArray(details) ? reasonOf(details) : null,
      message: printable(mask.text(describe(result, typeof said === "string" ? said : null))),
      retryAfter: result.headers["retry-after"] ?? null,
      body,
    };
  }
  if (result.truncated) return { kind: "garbled", status, durationMs, problem: "is larger than 4 MiB", body };
  if (isTooDeep) {
    return { kind: "garbled", status, durationMs, problem: `is nested deeper than ${maxDepth} levels`, body };
  }
  const problem = compressionText(result.headers) ?? "is not JSON";
  if (value === undefined) return { kind: "garbled", status, durationMs, problem, body };
  return { kind: "answered", status, durationMs, value, body };
}

/**
 * Sends a request. If the agent answers 415 to the newer media type, which means that it did no work, the request is sent again
 * with the older one.
 */
async function request(
  outbound: Outbound,
  agent: Agent,
  { header }: AgentCredential,
  call: AgentCall,
): Promise<ExchangeResult> {
  const older = olderInterfaces.get(outbound) ?? new Set<string>();
  const startedAtMs = performance.now();
  const send = (contentType: string): Promise<ExchangeResult> => {
    const headers = ["accept", `${mediaType}, ${olderMediaType}`, "a2a-version", "1.0"];
    if (call.body !== undefined) headers.push("content-type", contentType);
    if (header !== null) headers.push(...header);
    if (call.traceparent !== undefined) headers.push("traceparent", call.traceparent);
    const active = (call.extensions ?? []).filter((uri) => agent.extensions.includes(uri));
    if (active.length > 0) headers.push("a2a-extensions", active.join(", "));
    return outbound.request({
      method: call.method,
      url: agentUrl(agent, call.path, call.query),
      headers,
      body: call.body ?? null,
      timeoutMs: call.timeoutMs - (performance.now() - startedAtMs),
      bodyLimitBytes: answerLimitBytes,
      repeatable: call.isRepeatable,
    });
  };
  if (older.has(agent.url)) return send(olderMediaType);
  const result = await send(mediaType);
  if (call.body === undefined || result.kind === "error" || result.status !== 415) return result;
  const again = await send(olderMediaType);
  if (again.kind !== "error" && again.status !== 415) {
    if (older.size >= maxOlderInterfaces) older.clear();
    olderInterfaces.set(outbound, older.add(agent.url));
  }
  return again;
}

/** The URL of a protocol route at an agent's interface. The tenant is a segment of the path. */
export function agentUrl(
  { url, tenant }: Pick<Agent, "url" | "tenant">,
  path: string,
  query: Readonly<Record<string, string>> = {},
): string {
  const base = new URL(url);
  const prefix = base.pathname.replace(/\/+$/, "");
  base.pathname = `${prefix}${tenant === null ? "" : `/${encodeURIComponent(tenant)}`}${path}`;
  for (const [name, value] of Object.entries(query)) base.searchParams.set(name, value);
  return base.href;
}

function describe(
  { status, headers }: { status: number; headers: ExchangeHeaders },
  said: string | null,
): string {
  const isRedirect = status >= 300 && status < 400;
  return statusText("the agent", status, headers.location) + (said && !isRedirect ? `: ${said}` : "");
}

function errorIn(value: unknown): object {
  const error = (value as { error?: unknown } | null | undefined)?.error;
  return isJsonObject(error) ? error : {};
}

/** Reads `google.rpc.ErrorInfo` (section 11.6) without checking the name of its type. */
function reasonOf(details: readonly unknown[]): string | null {
  for (const detail of details) {
    if (!isJsonObject(detail)) continue;
    const { reason } = detail as { reason?: unknown };
    if (typeof reason === "string" && /^[A-Z][A-Z0-9_]{0,63}$/.test(reason)) return reason;
  }
  return null;
}

function parseJson(body: Buffer): unknown {
  try {
    // Some libraries write a byte order mark, which a parser may ignore (RFC 8259, section 8.1).
    return JSON.parse(body.toString("utf8").replace(/^\ufeff/, ""));
  } catch {
    return undefined;
  }
}

/** Formats an agent's text for logs, attempts and the owner: one line of limited length. */
function printable(text: string): string {
  const line = text
    .replaceAll(/[\s\p{Cc}\p{Cs}]+/gu, " ")
    .trim()
    .toWellFormed();
  return line.length > maxMessageLength ? `${line.slice(0, maxMessageLength).toWellFormed()}…` : line;
}
