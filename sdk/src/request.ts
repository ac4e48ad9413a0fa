import { PostriderError } from "./postriderError.ts";

/** How an operation travels, as the generated table says it. */
export interface OperationRow {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  hasBody: boolean;
  /** Options that become headers, with the headers' names. */
  headers: Readonly<Record<string, string>>;
  /** Options that become parameters of the query. */
  query: readonly string[];
  /** Whether it may be sent again when it is unknown whether the first one arrived. */
  idempotent: boolean;
  /** The option that makes repetitions harmless; made up when it is not given. */
  key?: string;
  /** A field that every good answer has. */
  answer?: string;
}

/** Options of every operation. */
export interface CallOptions {
  signal?: AbortSignal;
  /** For each attempt; the client's own unless given. */
  timeoutMs?: number;
}

/** How a client reaches its service. */
export interface Transport {
  baseUrl: string;
  headers: Readonly<Record<string, string>>;
  timeoutMs: number;
  deadlineMs: number;
  maxAttempts: number;
  retryBaseMs: number;
  fetch: typeof fetch;
}

type Options = CallOptions & Record<string, unknown>;

/** Longest wait between two attempts. */
const maxWaitMs = 30_000;

/**
 * Calls an operation: path parameters first, then the body if it takes one, then options. Attempts that surely did
 * nothing (429, most 503) are repeated, and those whose fate is unknown when repeating is harmless.
 * @throws {PostriderError} for a refusal, when no attempt succeeded, and for an option that cannot be sent (400).
 */
export async function callOperation(
  transport: Transport,
  row: OperationRow,
  inputs: readonly unknown[],
): Promise<unknown> {
  const rest = [...inputs];
  const path = row.path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(String(rest.shift())));
  const body = row.hasBody ? rest.shift() : undefined;
  const options = withKey(row, (rest[0] ?? {}) as Options);
  const url = transport.baseUrl + path + queryOf(row, options);
  const init = { method: row.method, ...contentOf(body), headers: headersOf(transport, row, body, options) };
  const repeatable = row.idempotent || row.key !== undefined;
  const endMs = performance.now() + transport.deadlineMs;
  for (let attempt = 1; ; attempt++) {
    const timeoutMs = Math.min(
      options.timeoutMs ?? transport.timeoutMs,
      Math.max(1, Math.ceil(endMs - performance.now())),
    );
    try {
      return await attemptOnce(transport, url, { row, init, timeoutMs }, options.signal);
    } catch (error) {
      const failure = toFailure(error, { url, timeoutMs }, options.signal);
      if (attempt >= transport.maxAttempts || !isWorthRepeating(failure, repeatable)) throw failure;
      const restMs = waitMs(transport, failure, attempt);
      if (performance.now() + restMs >= endMs) throw failure;
      await pause(restMs, options.signal);
    }
  }
}

function withKey({ key }: OperationRow, options: Options): Options {
  return key === undefined || options[key] !== undefined
    ? options
    : { ...options, [key]: crypto.randomUUID() };
}

function queryOf(row: OperationRow, options: Options): string {
  const query = new URLSearchParams();
  for (const name of row.query) {
    const value = options[name] as string | number | undefined;
    if (value !== undefined) query.set(name, String(value));
  }
  return query.size === 0 ? "" : `?${query.toString()}`;
}

/** Bytes go as they are, everything else as JSON. */
function contentOf(body: unknown): { body?: string | Uint8Array<ArrayBuffer> } {
  if (body === undefined) return {};
  return { body: body instanceof Uint8Array ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body) };
}

function headersOf(
  transport: Transport,
  row: OperationRow,
  body: unknown,
  options: Options,
): Record<string, string> {
  const headers: Record<string, string> = { accept: "application/json", ...transport.headers };
  if (body !== undefined) headers["content-type"] = "application/json";
  for (const [option, name] of Object.entries(row.headers)) {
    const value = options[option] as string | undefined;
    if (value !== undefined) headers[name] = carried(option, value);
  }
  return headers;
}

/** A header's value. `fetch` would refuse others, as if the service were away. */
function carried(option: string, value: string): string {
  if (!/[^\t -~\u0080-\u00ff]/.test(value)) return value;
  throw new PostriderError(`${option} has a character that no header can carry`, { status: 400 });
}

interface Attempt {
  row: OperationRow;
  init: RequestInit;
  timeoutMs: number;
}

async function attemptOnce(
  transport: Transport,
  url: string,
  { row, init, timeoutMs }: Attempt,
  asked: AbortSignal | undefined,
): Promise<unknown> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = asked === undefined ? timeout : AbortSignal.any([asked, timeout]);
  // A redirect that is followed turns a POST into a GET, and leaves the credential behind where it leads to another origin.
  const response = await transport.fetch(url, { ...init, redirect: "manual", signal });
  const text = await response.text();
  if (!response.ok) throw refusalOf(response, text, url);
  const answer = parse(text, response, url);
  // The service accepts items with 202 alone; a page of a proxy that answers 200 has stored nothing.
  if (isOfItem(row) && response.status !== 202) throw foreign("is no 202", response, url);
  if (row.answer !== undefined && !hasField(answer, row.answer))
    throw foreign(`has no "${row.answer}"`, response, url);
  return answer;
}

/** Whether an item is handed over. */
function isOfItem({ headers }: OperationRow): boolean {
  return Object.hasOwn(headers, "eventType");
}

function hasField(answer: unknown, name: string): boolean {
  return typeof answer === "object" && answer !== null && Object.hasOwn(answer, name);
}

function parse(text: string, response: Response, url: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw foreign("is not JSON", response, url, cause);
  }
}

/** An answer that another service than Postrider gave. */
export function foreign(what: string, { status }: Response, url: string, cause?: unknown): PostriderError {
  const message = `the answer ${status} of ${withoutQuery(url)} ${what}: is this the address of a Postrider service?`;
  return new PostriderError(message, { status, cause });
}

function withoutQuery(url: string): string {
  return url.replace(/\?.*$/s, "");
}

/** The service's refusal of a request, or the redirect of something before it. */
export function refusalOf(response: Response, text: string, url: string): PostriderError {
  const { status, headers } = response;
  // Browsers hide where a redirect leads to, and its status.
  if (response.type === "opaqueredirect") return redirected("elsewhere", 302);
  const location = headers.get("location");
  if (status >= 300 && status < 400 && location !== null) return redirected(`to ${location}`, status);
  const message = messageOf(text);
  // A proxy before the service has pages of its own for its errors.
  if (message === undefined && status < 500) return foreign("does not say why", response, url);
  return new PostriderError(message ?? `${withoutQuery(url)} answered ${status}`, {
    status,
    code: headers.get("x-error-code") ?? undefined,
    requestId: headers.get("x-request-id") ?? undefined,
    retryAfterSeconds: secondsOf(headers.get("retry-after")),
  });
}

function redirected(where: string, status: number): PostriderError {
  return new PostriderError(`the address redirects ${where}: give the one that it leads to`, { status });
}

function messageOf(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === "string" ? error : undefined;
  } catch {
    return undefined;
  }
}

function secondsOf(text: string | null): number | undefined {
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

/** An abort that the caller asked for stays what it is. */
function toFailure(
  error: unknown,
  { url, timeoutMs }: { url: string; timeoutMs: number },
  signal: AbortSignal | undefined,
): PostriderError {
  signal?.throwIfAborted();
  if (error instanceof PostriderError) return error;
  const isLate = error instanceof Error && error.name === "TimeoutError";
  const what = isLate ? `has not answered within ${Math.ceil(timeoutMs / 1000)} s` : "could not be reached";
  return new PostriderError(`${withoutQuery(url)} ${what}`, { status: 0, cause: error });
}

function isWorthRepeating({ status, code, retryAfterSeconds }: PostriderError, repeatable: boolean): boolean {
  if (status === 429) return true;
  if (code === "outcome_unknown" && !repeatable) return false;
  // Without a time to wait, 503 is how the service is set up, not how it fares.
  if (status === 503) return retryAfterSeconds !== undefined;
  return repeatable && (status === 0 || status === 408 || status === 502 || status === 504);
}

/** The delay that the service asks for, or exponential back-off with full jitter. */
function waitMs(transport: Transport, { retryAfterSeconds }: PostriderError, attempt: number): number {
  if (retryAfterSeconds !== undefined) return Math.min(retryAfterSeconds * 1000, maxWaitMs);
  return Math.min(transport.retryBaseMs * 2 ** (attempt - 1), maxWaitMs) * (0.5 + Math.random() / 2);
}

/** Resolves after the time; rejects with the signal's reason when that comes first. */
export function pause(durationMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, durationMs);
    if (signal?.aborted === true) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
