import { once } from "node:events";
import { connect } from "node:net";
import fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import type { Caller } from "../http/contract/credentials.ts";
import { createPool } from "../postgres/pool.ts";
import { StreamHub } from "./hub.ts";
import { streamRoute } from "./routes.ts";

const caller: Caller = {
  kind: "apiKey",
  orgId: "0".repeat(32),
  keyId: "1".repeat(32),
  scope: undefined,
};

/** A server whose streams begin when `begun` resolves. `closed` resolves when the connection of a request has ended. */
async function serveStreams() {
  const begun = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const hub = new StreamHub({
    // No database connection is needed: only open streams are checked against the database.
    pool: createPool({
      connection: { url: "postgres://nowhere.invalid/none" },
      size: 1,
      onError: () => undefined,
    }),
    log: { warn: () => undefined },
    nowMs: Date.now,
    nodeTag: "0123abcd",
    begin: () => begun.promise,
    hasOthers: () => Promise.resolve(false),
    end: () => undefined,
  });
  const route = streamRoute({ streams: { hub }, isStopping: () => false });
  const app = fastify();
  app.get("/", (request, reply) => {
    reply.raw.once("close", closed.resolve);
    return route.handle({ caller, query: {}, params: {}, body: undefined, request, reply });
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => app.close());
  const { port } = app.server.address() as { port: number };
  return { begun, closed: closed.promise, hub, port };
}

test.each(["HEAD", "GET"])(
  "a client that sends %s and disconnects before its stream begins does not count as an open stream",
  async (method) => {
    const { begun, closed, hub, port } = await serveStreams();
    const client = connect(port, "127.0.0.1");
    await once(client, "connect");
    client.write(`${method} / HTTP/1.1\r\nhost: x\r\n\r\n`);
    await expect.poll(() => hub.size()).toBe(1);
    client.resetAndDestroy();
    await closed;
    begun.resolve();
    await expect.poll(() => hub.size()).toBe(0);
  },
);

test("a client whose stream is ended before it begins is told so", async () => {
  const { begun, hub, port } = await serveStreams();
  const answer = fetch(`http://127.0.0.1:${port}/`);
  await expect.poll(() => hub.size()).toBe(1);
  await hub.stop();
  begun.resolve();
  const { status, text } = await answer.then(async (one) => ({ status: one.status, text: await one.text() }));
  expect({ status, text }).toEqual({ status: 200, text: 'event: end\ndata: {"reason":"stopping"}\n\n' });
});
