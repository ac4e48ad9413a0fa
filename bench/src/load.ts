import { openExchange } from "./exchange.ts";
import { createRefusals } from "./refusals.ts";

export interface LoadResult {
  requests: number;
  errors: number;
  seconds: number;
  perSecond: number;
  /** Milliseconds. */
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

export interface LoadOptions {
  host: string;
  port: number;
  connections: number;
  /** The run ends after this time, or after `requests` requests. */
  durationMs: number;
  requests?: number;
  /** Requests per second over all connections; a closed loop when absent. */
  rate?: number;
  /** Answers within this time do not count. */
  warmupMs?: number;
  /** The bytes of the n-th request. */
  request: (n: number) => Buffer;
  /** A status that counts as success. */
  expect: number;
  /** Whether refused requests are counted in `errors`; otherwise a run with one rejects. */
  countsRefusals?: boolean;
}

/**
 * Runs an HTTP/1.1 client on plain sockets, one request at a time on each connection, in a closed loop. With `rate`, each
 * request has a due time and its latency counts from there, so that a stall of the server shows in every request that it
 * delayed (no coordinated omission).
 * @throws if a request was refused or lost, unless refusals are counted; or if all connections ended before `requests` were sent.
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const startedAt = performance.now();
  const countFrom = startedAt + (options.warmupMs ?? 0);
  const endAt = countFrom + options.durationMs;
  const latencies: number[] = [];
  let sent = 0;
  const refusals = createRefusals();
  let lastAt = startedAt;
  const mayGoOn = (): boolean =>
    performance.now() < endAt && (options.requests === undefined || sent < options.requests);

  function onAnswer(status: number, sentAt: number, body: Buffer): void {
    const now = performance.now();
    if (status !== options.expect) refusals.add(status, body);
    else if (now >= countFrom) latencies.push(now - sentAt);
    lastAt = now;
  }

  const clients = await Promise.all(
    Array.from({ length: options.connections }, () => connect(options.host, options.port, onAnswer)),
  );
  const next = (): Buffer => options.request(sent++);
  if (options.rate === undefined) {
    await Promise.all(clients.map((client) => client.loop(next, mayGoOn)));
  } else {
    await paced(clients, options.rate, next, mayGoOn);
  }
  for (const client of clients) client.close();
  if (options.countsRefusals !== true) {
    refusals.check(sent);
    if (mayGoOn()) throw new Error(`the service ended all connections after ${sent} requests`);
  }
  // Until the last answer, because answers to requests that were in flight at the end count, too.
  const seconds = (lastAt - countFrom) / 1000;
  return summarize(latencies, refusals.count, seconds);
}

export function summarize(latencies: number[], errors: number, seconds: number): LoadResult {
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    requests: sorted.length,
    errors,
    seconds,
    perSecond: sorted.length / seconds,
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    max: sorted.at(-1) ?? 0,
  };
}

const nothing = Buffer.alloc(0);

interface Client {
  loop(next: () => Buffer, mayGoOn: () => boolean): Promise<void>;
  /** Sends one request that was due at `dueAt`; false when the connection is busy. */
  trySend(request: Buffer, dueAt: number): boolean;
  idle(): boolean;
  /** False once the other side has ended the connection. */
  isOpen(): boolean;
  close(): void;
}

async function connect(
  host: string,
  port: number,
  onAnswer: (status: number, sentAt: number, body: Buffer) => void,
): Promise<Client> {
  let sentAt = 0;
  let isBusy = false;
  let isClosed = false;
  let onIdle: (() => void) | undefined;
  const exchange = await openExchange({
    host,
    port,
    onAnswer(status, body) {
      isBusy = false;
      onAnswer(status, sentAt, body);
      onIdle?.();
    },
    onClose() {
      isClosed = true;
      if (isBusy) onAnswer(0, sentAt, nothing);
      isBusy = false;
      onIdle?.();
    },
  });
  function send(request: Buffer, at: number): void {
    isBusy = true;
    sentAt = at;
    exchange.send(request);
  }
  return {
    loop: (next, mayGoOn) =>
      new Promise((resolve) => {
        onIdle = () => {
          if (isClosed || !mayGoOn()) resolve();
          else send(next(), performance.now());
        };
        onIdle();
      }),
    trySend(request, dueAt) {
      if (isBusy || isClosed) return false;
      send(request, dueAt);
      return true;
    },
    idle: () => !isBusy,
    isOpen: () => !isClosed,
    close: () => exchange.close(),
  };
}

async function paced(
  clients: Client[],
  rate: number,
  next: () => Buffer,
  mayGoOn: () => boolean,
): Promise<void> {
  const gapMs = 1000 / rate;
  let dueAt = performance.now();
  while (mayGoOn() && clients.some((client) => client.isOpen())) {
    const now = performance.now();
    for (const client of clients) {
      if (dueAt > now) break;
      if (client.idle() && client.trySend(next(), dueAt)) dueAt += gapMs;
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  while (clients.some((client) => !client.idle())) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** The bytes of a POST; `lines` are header lines. */
export function postBytes(path: string, lines: string[], body: string): Buffer {
  return Buffer.from(`${postHead(path, lines, Buffer.byteLength(body))}${body}`);
}

/** The request line and the headers of a POST. */
export function postHead(path: string, lines: readonly string[], bodyBytes: number): string {
  const head = [
    `POST ${path} HTTP/1.1`,
    "host: bench",
    "content-type: application/json",
    `content-length: ${bodyBytes}`,
    ...lines,
  ];
  return `${head.join("\r\n")}\r\n\r\n`;
}

/** Milliseconds of the machine's monotonic clock. All processes share it, unlike `performance.now()`. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
