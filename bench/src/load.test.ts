import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { runConsumers } from "./consumers.ts";
import { postBytes, runLoad } from "./load.ts";

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
  expect(await runLoad({ ...load, request })).toMatchObject({ requests: 0, errors: 2 });
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

test("consumers end when their connections are lost, and count refusals", async () => {
  let asked = 0;
  const port = await startServer((socket) => {
    if (++asked < 3) socket.write(answerOf("503 Service Unavailable", '{"error":"away"}'));
    else socket.destroy();
  });
  const mailbox = { port, key: "k", mailboxId: "m", consumers: 1, batch: 1 };
  const { completed, requests } = await runConsumers({ ...mailbox, durationMs: 60_000, warmupMs: 0 });
  expect([completed, requests.errors]).toEqual([0, 3]);
});
