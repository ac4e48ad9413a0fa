import { createServer, request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import fastify from "fastify";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { webhookRoute } from "../../sdk/src/fastifyReceiver.ts";
import { receiveWebhook as receiveByFetch } from "../../sdk/src/fetchReceiver.ts";
import { type NodeRequest, receiveWebhook } from "../../sdk/src/nodeReceiver.ts";
import type { ReceiverOptions } from "../../sdk/src/receiveDelivery.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const former = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const closes: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closes.splice(0)) await close();
});

/** Listens, and resolves to the URL of `/hooks`. */
async function listen(server: Server): Promise<string> {
  closes.push(() => new Promise((resolve) => server.close(resolve).closeAllConnections()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
}

/** Each way to mount a receiver, as its documentation shows; every handler reads `order` from the payload. */
const mounts: Record<string, (options: ReceiverOptions<never>) => Promise<string>> = {
  async "Express, before express.json()"(options) {
    const app = express();
    app.post("/hooks", receiveWebhook(options));
    app.use(express.json());
    return listen(createServer(app));
  },
  async "Express, behind express.raw()"(options) {
    const app = express();
    app.use(express.raw({ type: "application/json" }));
    app.post("/hooks", receiveWebhook(options));
    return listen(createServer(app));
  },
  async "Express, behind express.json() that keeps the bytes"(options) {
    const app = express();
    const verify = (request: object, _response: unknown, rawBody: Buffer): void =>
      void Object.assign(request, { rawBody });
    app.use(express.json({ verify }));
    app.post("/hooks", receiveWebhook(options));
    return listen(createServer(app));
  },
  async "Node's own server"(options) {
    return listen(createServer(receiveWebhook(options) as never));
  },
  async Fastify(options) {
    const app = fastify();
    await app.register(webhookRoute({ path: "/hooks", ...options }));
    app.post("/other", (request) => ({ parsed: request.body }));
    closes.push(() => app.close());
    const base = await app.listen({ port: 0, host: "127.0.0.1" });
    // Bodies of other routes are still parsed.
    const other = await fetch(`${base}/other`, { ...json, body: '{"a":1}' });
    expect(await other.json()).toEqual({ parsed: { a: 1 } });
    return `${base}/hooks`;
  },
  async "fetch, as Next has it"(options) {
    const POST = receiveByFetch(options);
    const server = createServer((incoming, outgoing) => {
      const body = incoming as unknown as ReadableStream;
      const headers = incoming.headers as Record<string, string>;
      const request = new Request("http://x/hooks", { method: "POST", headers, body, duplex: "half" });
      POST(request).then(
        async (answer) => outgoing.writeHead(answer.status).end(await answer.text()),
        () => outgoing.writeHead(500).end(),
      );
    });
    return listen(server);
  },
};

const json = { method: "POST", headers: { "content-type": "application/json" } };
// Serializing this text after parsing would give other bytes.
const body = '{ "event_type":"order.created", "order": 1.0 }';

/** A delivery as the service sends it. */
function signed(text: string, keys: string[] = [secret], at = new Date()): RequestInit {
  const headers = {
    ...json.headers,
    "webhook-id": "0198",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": keys.map((key) => new Webhook(key).sign("0198", at, text)).join(" "),
  };
  return { method: "POST", headers, body: text };
}

describe.each(Object.keys(mounts))("a receiver in %s", (name) => {
  it("accepts payloads signed with any of its secrets, typed, and refuses all others", async () => {
    const orders: number[] = [];
    const refused: string[] = [];
    const url = await mounts[name]!({
      secrets: async () => [secret, former],
      schema: z.object({ order: z.number().positive() }),
      handle: ({ id, eventType, payload }: { id: string; eventType: string; payload: { order: number } }) => {
        expect([id, eventType]).toEqual(["0198", "order.created"]);
        orders.push(payload.order);
      },
      onRefused: (error: Error) => refused.push(error.message),
      maxBytes: 1000,
    } as unknown as ReceiverOptions<never>);
    const statusOf = async (init: RequestInit): Promise<number> => (await fetch(url, init)).status;
    expect(await statusOf(signed(body))).toBe(204);
    expect(await statusOf(signed(body, [former]))).toBe(204);
    expect(await statusOf(signed(body, [newSecret()]))).toBe(400);
    expect(await statusOf({ ...signed(body), body: '{"order":2}' })).toBe(400);
    expect(await statusOf(signed(body, [secret], new Date(Date.now() - 301_000)))).toBe(400);
    expect(await statusOf(signed('{"order":-1}'))).toBe(400);
    expect(await statusOf(json)).toBe(400);
    expect(await statusOf(signed(JSON.stringify({ large: "x".repeat(1000) })))).toBe(413);
    expect(orders).toEqual([1, 1]);
    expect(refused).toEqual([
      "no signature matches",
      "no signature matches",
      "the timestamp is too far from now",
      expect.stringContaining("the payload does not fit its schema: order: "),
      "the header webhook-id is missing",
    ]);
  });

  it("answers 500 when the handler fails, so that the service tries again", async () => {
    const url = await mounts[name]!({
      secrets: secret,
      handle: () => Promise.reject(new Error("no room")),
      onError: () => undefined,
    } as ReceiverOptions<never>);
    expect((await fetch(url, signed(body))).status).toBe(500);
  });
});

describe("a body that was parsed before", () => {
  it("is an error whose message says how to fix it", async () => {
    const said: string[] = [];
    const app = express();
    app.use(express.json());
    app.post("/hooks", receiveWebhook({ secrets: secret, handle: () => undefined }));
    app.use((error: Error, _request: NodeRequest, response: express.Response, _next: unknown) => {
      said.push(error.message);
      response.sendStatus(500);
    });
    expect((await fetch(await listen(createServer(app)), signed(body))).status).toBe(500);
    const request = new Request("http://x/", signed(body));
    await request.json();
    const receive = receiveByFetch({ secrets: secret, handle: () => undefined });
    await expect(receive(request)).rejects.toThrow("hand the request over before .json()");
    expect(said).toEqual([expect.stringContaining("put the receiver before express.json()")]);
  });

  it("does not make the receiver wait for a body that never comes", async () => {
    const url = new URL(await mounts["Node's own server"]!({ secrets: secret, handle: () => undefined }));
    const status = await new Promise((resolve) => {
      httpRequest(url, { method: "POST" }, ({ statusCode }) => resolve(statusCode)).end();
    });
    expect(status).toBe(400);
  });
});

function newSecret(): string {
  return `whsec_${Buffer.alloc(24, 9).toString("base64")}`;
}
