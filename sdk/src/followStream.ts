import { PostriderError } from "./postriderError.ts";
import { foreign, pause, refusalOf, type Transport } from "./request.ts";

/** A change in the organization; times are Unix seconds. */
export type StreamEvent =
  | {
      type: "item";
      data: { id: string; target_id: string; event_type: string | null; status: string; created_at: number };
    }
  | { type: "attempt"; data: StreamedAttempt }
  | { type: "target" | "mailbox"; data: { id: string } }
  | { type: "handoff"; data: { event_id: string; target_id: string } }
  | { type: "summary"; data: StreamSummary }
  /** Changes may have been missed: read the displayed data again. */
  | { type: "reset"; data: { reason: string } };

export interface StreamedAttempt {
  event_id: string;
  target_id: string;
  number: number;
  status_code: number;
  duration_ms: number;
  error: string | null;
  outcome: "delivered" | "retrying" | "failed";
  next_attempt_at: number | null;
}

/** Counts, sent instead of single items and attempts when there are too many of them. */
export interface StreamSummary {
  from: number;
  to: number;
  /** The entry with `target_id` null has the sums of all targets without an entry of their own. */
  targets: {
    target_id: string | null;
    accepted: number;
    delivered: number;
    retried: number;
    failed: number;
  }[];
}

export interface FollowOptions {
  /** Types of the changes to receive; all by default. */
  types?: readonly ("item" | "attempt" | "target" | "mailbox" | "handoff")[];
  /** Ends the iteration. */
  signal?: AbortSignal;
}

/** The service sends at least a heartbeat every 15 s; a connection without any bytes for this long is considered lost. */
const silenceMs = 45_000;
const maxWaitMs = 30_000;

/**
 * Yields changes of the organization in real time, at least once. After a lost connection, it reconnects and resumes after the
 * last change.
 * @throws {PostriderError} when a retry cannot help, for example because the credential was revoked.
 */
export async function* followStream(
  transport: Transport,
  { types, signal }: FollowOptions,
): AsyncGenerator<StreamEvent, void> {
  const query = types === undefined ? "" : `?types=${types.join(",")}`;
  const place: Place = { failures: 0 };
  for (;;) {
    if (isOver(signal)) return;
    try {
      yield* readOnce(transport, `/api/v1/stream${query}`, place, signal);
    } catch (error) {
      if (isOver(signal)) return;
      if (error instanceof PostriderError && isForGood(error.status)) throw error;
    }
    const longestMs = Math.min(transport.retryBaseMs * 2 ** place.failures++, maxWaitMs);
    const waitMs = longestMs * (0.5 + Math.random() / 2);
    await pause(waitMs, signal).catch(() => undefined);
  }
}

/** Whether a status is final: a redirect, an answer of another service (such as 404), or a refusal that will not change. */
function isForGood(status: number): boolean {
  return status >= 200 && status < 500 && status !== 408 && status !== 429;
}

interface Place {
  /** Id of the last event, after which the next connection resumes. */
  lastId?: string;
  /** Number of consecutive connections that were refused or could not be opened. */
  failures: number;
}

function isOver(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

/** Yields the events of one connection until it ends. */
async function* readOnce(
  transport: Transport,
  path: string,
  place: Place,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamEvent, void> {
  const silence = new AbortController();
  const restart = watch(silence);
  try {
    const headers = { ...transport.headers, accept: "text/event-stream" };
    const url = transport.baseUrl + path;
    const response = await transport.fetch(url, {
      redirect: "manual",
      headers: place.lastId === undefined ? headers : { ...headers, "last-event-id": place.lastId },
      signal: signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]),
    });
    if (!response.ok) throw refusalOf(response, await response.text(), url);
    const type = response.headers.get("content-type") ?? "";
    if (!type.startsWith("text/event-stream")) throw foreign("is not an event stream", response, url);
    place.failures = 0;
    for await (const frame of framesOf(response, restart.touch)) {
      if (frame.id !== undefined) place.lastId = frame.id;
      if (frame.event === "end") throwIfUnauthorized(frame.data);
      else if (frame.event !== undefined) {
        yield { type: frame.event, data: JSON.parse(frame.data) as unknown } as StreamEvent;
      }
    }
  } finally {
    restart.stop();
    silence.abort();
  }
}

function throwIfUnauthorized(data: string): void {
  const { reason } = JSON.parse(data) as { reason?: string };
  if (reason === "unauthorized") throw new PostriderError("unauthorized", { status: 401 });
}

interface Frame {
  id?: string;
  event?: string;
  data: string;
}

async function* framesOf(response: Response, onBytes: () => void): AsyncGenerator<Frame, void> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onBytes();
    const frames = (text + decoder.decode(value, { stream: true })).split("\n\n");
    text = frames.pop()!;
    yield* frames.map(readFrame);
  }
}

function readFrame(text: string): Frame {
  const frame: Frame = { data: "" };
  for (const line of text.split("\n")) {
    const [, field, value = ""] = /^(id|event|data): ?(.*)$/.exec(line) ?? [];
    if (field === "data") frame.data += value;
    else if (field === "id" || field === "event") frame[field] = value;
  }
  return frame;
}

/** Aborts `silence` when `touch` has not been called for {@link silenceMs}. */
function watch(silence: AbortController): { touch: () => void; stop: () => void } {
  const end = (): void => silence.abort(new Error("nothing was heard from the service"));
  let timer = setTimeout(end, silenceMs);
  return {
    touch() {
      clearTimeout(timer);
      timer = setTimeout(end, silenceMs);
    },
    stop: () => clearTimeout(timer),
  };
}
