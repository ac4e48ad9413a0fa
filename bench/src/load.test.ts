import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { runConsumers } from "./consumers.ts";
import { postBytes, runLoad } from "./load.ts";
import { openStreams } from "./openStreams.ts";
import { until } from "../../server/test/support/until.ts";

/** Starts a server that calls `take` for each piece that a connection receives; each piece is a whole request. */
async function startServer(take: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined).on("data", () => take(socket));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const request = (): Buffer => postBytes("/", [], "{}");

function answerOf(status: string, body: string): string {
  return `HTTP/1.1 ${status}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

test("a load at a rate ends when its connections are lost", async () => {
  const port = await startServer((socket) => void socket.destroy());
  const load = { host: "127.0.0.1", port, connections: 2, rate: 100, durationMs: 200, expect: 202 };
  const result = await runLoad({ ...load, countsRefusals: true, request });
  expect(result).toMatchObject({ requests: 0, errors: 2 });
});

test("a load whose requests are refused fails, and says how they were answered", async () => {
  let asked = 0;
  const port = await startServer((socket) => {
    const isRefused = ++asked % 2 === 0;
    socket.write(isRefused ? answerOf("429 Too Many", '{"error":"slower"}') : answerOf("202 Accepted", "{}"));
  });
  const load = { host: "127.0.0.1", port, connections: 1, durationMs: 60_000, requests: 5, expect: 202 };
  const refused = '2 of 5 requests were refused: 2 × 429; the first answer: {"error":"slower"}';
  await expect(runLoad({ ...load, request })).rejects.toThrow(refused);
});

test("a load at a rate fails when its connections end between requests", async () => {
  const port = await startServer((socket) => void socket.end(answerOf("202 Accepted", "{}")));
  const load = { host: "127.0.0.1", port, connections: 1, rate: 1, durationMs: 60_000, expect: 202 };
  await expect(runLoad({ ...load, request })).rejects.toThrow("ended all connections after 1 requests");
});

test("a stream that is refused fails although its connection stays open", async () => {
  const refusal = answerOf("429 Too Many Requests", '{"error":"too many streams"}');
  const open = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\n: open\n\n\r\n";
  const sockets = new Set<Socket>();
  const port = await startServer((socket) => {
    sockets.add(socket.once("close", () => sockets.delete(socket)));
    socket.write(sockets.size < 3 ? open : refusal);
  });
  const streams = await openStreams(port, ["a", "b"]);
  await expect(openStreams(port, ["c"])).rejects.toThrow("429 Too Many Requests");
  await streams.close();
  await until(() => sockets.size === 0);
});

test("requests in flight at the end count, and so does the time until their answers", async () => {
  const eachMs = 10;
  let last: Promise<unknown> = Promise.resolve();
  const port = await startServer((socket) => {
    last = last.then(() => delay(eachMs)).then(() => socket.write(answerOf("202 Accepted", "{}")));
  });
  const load = { host: "127.0.0.1", port, connections: 32, durationMs: 200, expect: 202 };
  const { perSecond } = await runLoad({ ...load, request });
  // The server answers one request after another; a timer may be a millisecond early.
  expect(perSecond).toBeLessThanOrEqual(1_000 / (eachMs - 1));
});

test("consumers end when their connections are lost, and name refusals", async () => {
  let asked = 0;
  const port = await startServer((socket) => {
    if (++asked < 3) socket.write(answerOf("503 Service Unavailable", '{"error":"away"}'));
    else socket.destroy();
  });
  const mailbox = { port, key: "k", mailboxId: "m", consumers: 1, batch: 1 };
  await expect(runConsumers({ ...mailbox, durationMs: 60_000, warmupMs: 0 })).rejects.toThrow(
    '3 of 3 requests were refused: 2 × 503, 1 × connection lost; the first answer: {"error":"away"}',
  );
});
