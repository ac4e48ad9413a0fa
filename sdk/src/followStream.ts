import { PostriderError } from "./postriderError.ts";
import { foreign, pause, refusalOf, type Transport } from "./request.ts";

/** Something that happened in the organization; times are Unix seconds. */
export type StreamEvent =
  | {
      type: "item";
      data: { id: string; target_id: string; event_type: string | null; status: string; created_at: number };
    }
  | { type: "attempt"; data: StreamedAttempt }
  | { type: "target" | "mailbox"; data: { id: string } }
  | { type: "handoff"; data: { event_id: string; target_id: string } }
  | { type: "summary"; data: StreamSummary }
  /** Something may have been missed: read again what you show. */
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

/** In place of items and attempts when there are too many to tell each. */
export interface StreamSummary {
  from: number;
  to: number;
  /** An entry with the `target_id` null counts for all targets that have none of their own. */
  targets: {
    target_id: string | null;
    accepted: number;
    delivered: number;
    retried: number;
    failed: number;
  }[];
}

export interface FollowOptions {
  /** Only these; all unless given. */
  types?: readonly ("item" | "attempt" | "target" | "mailbox" | "handoff")[];
  /** Ends the iteration. */
  signal?: AbortSignal;
}

/** The service says something every 15 s; after this long without a word the connection is taken for lost. */
const silenceMs = 45_000;
const maxWaitMs = 30_000;

/**
 * Events of the organization in real time, at least once. A lost connection is opened again and resumes where it was.
 * @throws {PostriderError} when asking again cannot help, such as after the credential was revoked.
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

/** Another service's answer, a redirect, or a refusal that stays: 404 is the answer of an address where no such service is. */
function isForGood(status: number): boolean {
  return status >= 200 && status < 500 && status !== 408 && status !== 429;
}

interface Place {
  /** The id to resume from. */
  lastId?: string;
  /** Connections in a row that were refused or did not come about. */
  failures: number;
}

function isOver(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

/** One connection, until it ends. */
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
    if (!type.startsWith("text/event-stream")) throw foreign("is no event stream", response, url);
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

/** Aborts once nothing was heard for too long. */
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
