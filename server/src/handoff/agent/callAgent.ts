import type { ExchangeError, ExchangeHeaders } from "../../outbound/exchangeResult.ts";
import type { Outbound } from "../../outbound/outbound.ts";
import type { Agent } from "./agent.ts";

export interface AgentCall {
  method: "GET" | "POST";
  /** Below the interface's URL, beginning with a slash; its parts are encoded already. */
  path: string;
  query?: Readonly<Record<string, string>>;
  body?: Buffer;
  /** Extensions that this request activates. */
  extensions?: readonly string[];
  /** Where the agent's part of the trace goes on. */
  traceparent?: string | undefined;
  timeoutMs: number;
  /** Whether it may arrive twice without harm. */
  isRepeatable: boolean;
}

/** What an agent answered, as far as the protocol explains it. */
export type AgentAnswer =
  /** A success with a JSON body. */
  | { kind: "answered"; status: number; durationMs: number; value: unknown; body: Buffer }
  /** A success whose body is not what the protocol asks for: the work may have been begun all the same. */
  | { kind: "garbled"; status: number; durationMs: number; problem: string; body: Buffer }
  | Refusal
  | { kind: "failed"; error: ExchangeError };

export interface Refusal {
  kind: "refused";
  status: number;
  durationMs: number;
  /** The protocol's own reason, such as `TASK_NOT_FOUND`; null when the answer names none. */
  reason: string | null;
  /** For a person: what the agent said, bounded and printable. */
  message: string;
  retryAfter: string | null;
  body: Buffer;
}

/** Tasks carry their artifacts; a larger answer cannot be read. */
const answerLimitBytes = 4 * 1024 * 1024;
const maxMessageLength = 300;

/** One request to an agent over HTTP+JSON (A2A 1.0, section 11). Never rejects. */
export async function callAgent(outbound: Outbound, agent: Agent, call: AgentCall): Promise<AgentAnswer> {
  const { authorization } = agent;
  if ("fault" in authorization) {
    return {
      kind: "failed",
      error: { kind: "error", code: "other", message: authorization.fault, durationMs: 0, sent: false },
    };
  }
  const headers = ["accept", "application/a2a+json, application/json", "a2a-version", "1.0"];
  if (call.body !== undefined) headers.push("content-type", "application/json");
  if (authorization.header !== null) headers.push("authorization", authorization.header);
  if (call.traceparent !== undefined) headers.push("traceparent", call.traceparent);
  const active = (call.extensions ?? []).filter((uri) => agent.extensions.includes(uri));
  if (active.length > 0) headers.push("a2a-extensions", active.join(", "));
  const result = await outbound.request({
    method: call.method,
    url: agentUrl(agent, call.path, call.query),
    headers,
    body: call.body ?? null,
    timeoutMs: call.timeoutMs,
    bodyLimitBytes: answerLimitBytes,
    repeatable: call.isRepeatable,
  });
  if (result.kind === "error") return { kind: "failed", error: result };
  const { status, durationMs } = result;
  const body = withoutToken(result.body, authorization.header);
  const value = result.truncated ? undefined : parseJson(body);
  if (status < 200 || status > 299) {
    const message = describe(result, saidIn(value));
    const shown = withoutToken(Buffer.from(message), authorization.header).toString("utf8");
    return refusal({ ...result, body }, value, printable(shown));
  }
  if (result.truncated) return { kind: "garbled", status, durationMs, problem: "is larger than 4 MiB", body };
  if (value === undefined) return { kind: "garbled", status, durationMs, problem: "is not JSON", body };
  return { kind: "answered", status, durationMs, value, body };
}

/** Where a route of the protocol is under an agent's interface; a tenant is a part of the path. */
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

/** An agent may repeat what it was sent; the token must not come to an owner's eyes or a log that way. */
function withoutToken(body: Buffer, header: string | null): Buffer {
  if (header === null) return body;
  const token = header.slice("Bearer ".length);
  let clean = body;
  for (const form of new Set([token, JSON.stringify(token).slice(1, -1)])) {
    if (!clean.includes(form)) continue;
    clean = Buffer.from(clean.toString("latin1").replaceAll(form, "[token]"), "latin1");
  }
  return clean;
}

function refusal(
  response: { status: number; durationMs: number; headers: ExchangeHeaders; body: Buffer },
  value: unknown,
  message: string,
): Refusal {
  const details = (errorIn(value) as { details?: unknown }).details;
  return {
    kind: "refused",
    status: response.status,
    durationMs: response.durationMs,
    reason: Array.isArray(details) ? reasonOf(details) : null,
    message,
    retryAfter: response.headers["retry-after"] ?? null,
    body: response.body,
  };
}

function describe(
  { status, headers }: { status: number; headers: ExchangeHeaders },
  said: string | null,
): string {
  if (status >= 300 && status < 400) {
    const to = headers.location ? ` redirect to ${headers.location}` : "";
    return `the agent answered ${status}${to}; redirects are not followed`;
  }
  return `the agent answered ${status}${said ? `: ${said}` : ""}`;
}

function saidIn(value: unknown): string | null {
  const { message } = errorIn(value) as { message?: unknown };
  return typeof message === "string" ? message : null;
}

function errorIn(value: unknown): object {
  const error = (value as { error?: unknown } | null | undefined)?.error;
  return isObject(error) ? error : {};
}

/** `google.rpc.ErrorInfo` (section 11.6); lenient about its type's name. */
function reasonOf(details: readonly unknown[]): string | null {
  for (const detail of details) {
    if (!isObject(detail)) continue;
    const { reason } = detail as { reason?: unknown };
    if (typeof reason === "string" && /^[A-Z][A-Z0-9_]{0,63}$/.test(reason)) return reason;
  }
  return null;
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** What an agent says goes to logs, to attempts and to the owner: one line, bounded. */
function printable(text: string): string {
  const line = text
    .replaceAll(/[\s\p{Cc}\p{Cs}]+/gu, " ")
    .trim()
    .toWellFormed();
  return line.length > maxMessageLength ? `${line.slice(0, maxMessageLength).toWellFormed()}…` : line;
}
