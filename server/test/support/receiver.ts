import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { Webhook } from "standardwebhooks";

/** A complete request that reached a receiver. */
export interface Received {
  /** The event's id, from `webhook-id`. */
  id: string;
  path: string;
  body: Buffer;
  headers: IncomingHttpHeaders;
  /** When the request was complete, Unix milliseconds. */
  atMs: number;
}

export type AnswerTo = (received: Received, response: ServerResponse) => void;

export interface Receiver {
  /** Base URL without a trailing slash; deliveries to any path under it are received. */
  url: string;
  port: number;
  /** All requests, in order. */
  received: Received[];
  /** The requests to this path, in order. */
  at(path: string): readonly Received[];
  /** Answers each request; with 200 by default. */
  answer: AnswerTo;
  /** Resolves once `count` requests (those to `path`, when given) have been received; rejects after the limit. */
  arrivals(count: number, options?: { path?: string; limitMs?: number }): Promise<Received[]>;
  stop(): Promise<void>;
}

const arrivalLimitMs = 60_000;

export function answerOk(_received: Received, response: ServerResponse): void {
  response.writeHead(200).end("ok");
}

/** Starts an HTTP receiver on loopback that keeps its requests, on `port` if given. */
export async function startReceiver(answer: AnswerTo = answerOk, port = 0): Promise<Receiver> {
  const watchers = new Set<() => void>();
  const byPath = new Map<string, Received[]>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const received: Received = {
        id: String(request.headers["webhook-id"]),
        path: request.url ?? "",
        body: Buffer.concat(chunks),
        headers: request.headers,
        atMs: Date.now(),
      };
      receiver.received.push(received);
      const before = byPath.get(received.path);
      if (before === undefined) byPath.set(received.path, [received]);
      else before.push(received);
      receiver.answer(received, response);
      for (const look of watchers) look();
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address() as { port: number };
  const receiver: Receiver = {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    received: [],
    answer,
    at: (path) => byPath.get(path) ?? [],
    arrivals(count, { path, limitMs = arrivalLimitMs } = {}) {
      const matching = (): readonly Received[] =>
        path === undefined ? receiver.received : receiver.at(path);
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          watchers.delete(look);
          const where = path === undefined ? "" : ` at ${path}`;
          reject(new Error(`${matching().length} of ${count} requests arrived${where} within ${limitMs} ms`));
        }, limitMs);
        function look(): void {
          const found = matching();
          if (found.length < count) return;
          clearTimeout(timer);
          watchers.delete(look);
          resolve([...found]);
        }
        watchers.add(look);
        look();
      });
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}

/** Whether a request is signed with `secret`, checked by the reference library of Standard Webhooks. */
export function isSignedWith(secret: string, { body, headers }: Received): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}
