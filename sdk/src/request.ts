import { PostriderError } from "./postriderError.ts";

/** How an operation becomes an HTTP request; a row of the generated table. */
export interface OperationRow {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  hasBody: boolean;
  /** Names of the headers, by the options that they are set from. */
  headers: Readonly<Record<string, string>>;
  /** Names of the options that become query parameters. */
  query: readonly string[];
  /** Whether the request may be repeated when it is unknown whether the first one arrived. */
  idempotent: boolean;
  /** The option with the idempotency key; generated when it is not given. */
  key?: string;
  /** A field that every successful answer has. */
  answer?: string;
}

/** Options of every operation. */
export interface CallOptions {
  signal?: AbortSignal;
  /** Time limit of each attempt; by default that of the client. */
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
  parseJson: (text: string) => unknown;
}

type Options = CallOptions & Record<string, unknown>;

/** Longest wait between two attempts. */
const maxWaitMs = 30_000;
/** Longest time of a timer: a longer one ends at once. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * Calls an operation. `inputs` are the path parameters, the body if the operation has one, and the options. Attempts that had no
 * effect (429, most 503) are repeated; attempts whose outcome is unknown only if the operation is idempotent or has a key.
 * @throws {PostriderError} for a refusal, when no attempt succeeded, and for an option that no header can carry (400).
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
      maxTimerMs,
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

/** The body of the request: a `Uint8Array` unchanged, everything else as JSON. */
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

/** Checks the value of a header: an error of `fetch` would look as if the service could not be reached. */
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
  // Redirects are not followed: that would turn a POST into a GET, and drop the credential on the way to another origin.
  const response = await transport.fetch(url, { ...init, redirect: "manual", signal });
  const text = await response.text();
  if (!response.ok) throw refusalOf(response, text, url);
  const answer = parse(text, transport.parseJson, { response, url });
  // The service accepts items only with 202. A 200 comes from something else, such as a proxy, which has stored nothing.
  if (isOfItem(row) && response.status !== 202) throw foreign("does not have status 202", response, url);
  if (row.answer !== undefined && !hasField(answer, row.answer))
    throw foreign(`has no "${row.answer}"`, response, url);
  return answer;
}

/** Whether the operation sends an item or a publication. */
function isOfItem({ headers }: OperationRow): boolean {
  return Object.hasOwn(headers, "eventType");
}

function hasField(answer: unknown, name: string): boolean {
  return typeof answer === "object" && answer !== null && Object.hasOwn(answer, name);
}

function parse(
  text: string,
  parseJson: Transport["parseJson"],
  { response, url }: { response: Response; url: string },
): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw foreign("is not JSON", response, url, cause);
  }
}

/** The error for an answer that cannot be Postrider's. */
export function foreign(what: string, { status }: Response, url: string, cause?: unknown): PostriderError {
  const message = `the answer ${status} of ${withoutQuery(url)} ${what}: is this the address of a Postrider service?`;
  return new PostriderError(message, { status, cause });
}

function withoutQuery(url: string): string {
  return url.replace(/\?.*$/s, "");
}

/** The error for a refusal by the service, or for a redirect or error of a proxy. */
export function refusalOf(response: Response, text: string, url: string): PostriderError {
  const { status, headers } = response;
  // Browsers hide the location and the status of a redirect.
  if (response.type === "opaqueredirect") return redirected("elsewhere", 302);
  const location = headers.get("location");
  if (status >= 300 && status < 400 && location !== null) return redirected(`to ${location}`, status);
  const message = messageOf(text);
  // An answer without `error` is not the service's. From 500 on, it may be the error page of a proxy in front of it.
  if (message === undefined && status < 500) return foreign("has no error message", response, url);
  return new PostriderError(message ?? `${withoutQuery(url)} answered ${status}`, {
    status,
    code: headers.get("x-error-code") ?? undefined,
    requestId: headers.get("x-request-id") ?? undefined,
    retryAfterSeconds: secondsOf(headers.get("retry-after")),
  });
}

function redirected(where: string, status: number): PostriderError {
  return new PostriderError(`the address redirects ${where}: use that address`, { status });
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

/** Turns an error of `fetch` into a {@link PostriderError}. @throws the signal's reason when the caller aborted the call. */
function toFailure(
  error: unknown,
  { url, timeoutMs }: { url: string; timeoutMs: number },
  signal: AbortSignal | undefined,
): PostriderError {
  signal?.throwIfAborted();
  if (error instanceof PostriderError) return error;
  const isLate = error instanceof Error && error.name === "TimeoutError";
  const what = isLate
    ? `has not answered within ${Math.round(timeoutMs / 100) / 10} s`
    : "could not be reached";
  return new PostriderError(`${withoutQuery(url)} ${what}`, { status: 0, cause: error });
}

function isWorthRepeating({ status, code, retryAfterSeconds }: PostriderError, repeatable: boolean): boolean {
  if (status === 429) return true;
  if (code === "outcome_unknown" && !repeatable) return false;
  // A 503 without Retry-After means that the service is not configured for the call, so a retry cannot help.
  if (status === 503) return retryAfterSeconds !== undefined;
  return repeatable && (status === 0 || status === 408 || status === 502 || status === 504);
}

/** Delay before a retry: Retry-After, or exponential back-off with jitter (50 to 100 %); 30 s at most. */
function waitMs(transport: Transport, { retryAfterSeconds }: PostriderError, attempt: number): number {
  if (retryAfterSeconds !== undefined) return Math.min(retryAfterSeconds * 1000, maxWaitMs);
  return Math.min(transport.retryBaseMs * 2 ** (attempt - 1), maxWaitMs) * (0.5 + Math.random() / 2);
}

/** Resolves after `durationMs`; rejects with the signal's reason if it aborts first. */
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
