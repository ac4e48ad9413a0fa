import { describe, expect } from "vitest";
import { createMailboxTarget } from "./support/items.ts";
import { type Pipeline, pipeline } from "./support/pipelines.ts";
import { itemBytes, plainKey } from "./support/plainRequest.ts";
import { type Account, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { file, serviceTest } from "./support/fixtures.ts";

const maxConnections = 40;
const maxBodyBytes = 262_144;

const it = serviceTest({
  POSTRIDER_MAX_BODY_BYTES: String(maxBodyBytes),
  POSTRIDER_BODY_MEMORY_BYTES: String(4 * maxBodyBytes),
  POSTRIDER_MAX_CONNECTIONS: String(maxConnections),
  POSTRIDER_METRICS_TOKEN: "scraper",
})
  .extend("newSender", file, ({ service }) => async (): Promise<Sender> => {
    const account = await signUp(service);
    return { ...account, mailbox: await createMailboxTarget(service, account) };
  })
  .extend("metric", file, ({ service }) => async (name: string): Promise<number> => {
    const headers = { authorization: "Bearer scraper", connection: "close" };
    const text = await (await fetch(`${service.url}/metrics`, { headers })).text();
    return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
  });

interface Sender extends Account {
  mailbox: string;
}

function headOf(mailbox: string, key: string, bytes: number): string {
  return `POST /t/${mailbox} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;
}

describe("/metrics with a token", () => {
  it.for([
    [401, undefined],
    [401, "Bearer other"],
    [401, "Basic scraper"],
    [200, "Bearer scraper"],
  ] as const)("answers %i to %s", async ([status, authorization], { service }) => {
    const headers = { connection: "close", ...(authorization !== undefined && { authorization }) };
    expect((await fetch(`${service.url}/metrics`, { headers })).status).toBe(status);
  });
});

describe("a body", () => {
  it("over 64 KiB is not read for an unknown key", async ({ newSender, service }) => {
    const { mailbox } = await newSender();
    const client = await pipeline(service.port, headOf(mailbox, plainKey, 200_000));
    // Answered before a byte of the body was sent.
    await until(client.statuses, (statuses) => statuses.length === 1);
    expect(client.statuses()).toEqual([401]);
    expect(client.text()).toMatch(/connection: close/i);
  });

  it("is not read for a key that was just revoked", async ({ newSender, service }) => {
    const { mailbox, session_token: session, api_key: key } = await newSender();
    const { body: second } = await service.call("POST", "/api/v1/keys", { session, body: { name: "2" } });
    const accepted = await service.call("POST", `/t/${mailbox}`, { key: second.key, body: {} });
    expect(accepted.status).toBe(202);
    await service.call("DELETE", `/api/v1/keys/${second.id}`, { key });
    const client = await pipeline(service.port, headOf(mailbox, second.key, 200_000));
    await until(client.statuses, (statuses) => statuses.length === 1);
    expect(client.statuses()).toEqual([401]);
  });

  it("beyond one organization's share of memory gets 503, while another organization's is accepted, and all memory is released", async ({
    newSender,
    service,
    metric,
  }) => {
    const [greedy, other] = [await newSender(), await newSender()];
    const part = Buffer.alloc(200_000, 0x20);
    const clients: Pipeline[] = [];
    for (let count = 0; count < 4; count++) {
      const client = await pipeline(service.port, headOf(greedy.mailbox, greedy.api_key, 200_002));
      client.socket.write(part);
      clients.push(client);
    }
    const refused = await until(
      () => clients.filter((client) => client.statuses()[0] === 503),
      (found) => found.length > 0,
    );
    expect(refused[0]!.text()).toMatch(/^retry-after: \d+\r$/im);
    // Half of the memory for bodies.
    expect(await metric("postrider_http_body_bytes")).toBeLessThanOrEqual(2 * maxBodyBytes);
    const payload = `"${"x".repeat(200_000)}"`;
    const answer = await service.call("POST", `/t/${other.mailbox}`, { key: other.api_key, payload });
    expect(answer.status).toBe(202);
    for (const client of clients) client.socket.destroy();
    await until(
      () => metric("postrider_http_body_bytes"),
      (bytes) => bytes === 0,
    );
  });
});

describe("connections", () => {
  it("without requests do not keep other clients out", async ({ newSender, service, metric }) => {
    const { mailbox, api_key: key } = await newSender();
    const idle: Pipeline[] = [];
    for (let count = 0; count < 2 * maxConnections; count++) idle.push(await pipeline(service.port, ""));
    const client = await pipeline(service.port, itemBytes({ targetId: mailbox, key }));
    await until(client.statuses, (statuses) => statuses.length === 1);
    expect(client.statuses()).toEqual([202]);
    expect(await metric("postrider_http_connections")).toBeLessThanOrEqual(maxConnections);
    // The oldest connection was closed to make room.
    await idle[0]!.closed;
    for (const one of idle) one.socket.destroy();
  });

  it("of strangers who do not read their answers do not keep other clients out", async ({
    newSender,
    service,
  }) => {
    const { mailbox, api_key: key } = await newSender();
    // More bytes than the buffers of a connection hold.
    const requests = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(40);
    const strangers: Pipeline[] = [];
    for (let count = 0; count < 2 * maxConnections; count++) {
      const stranger = await pipeline(service.port, requests);
      strangers.push(stranger);
      await until(() => stranger.statuses().length > 0 || stranger.socket.destroyed);
      stranger.socket.pause();
    }
    for (let count = 0; count < 5; count++) {
      const client = await pipeline(service.port, itemBytes({ targetId: mailbox, key }));
      await until(() => client.statuses().length > 0 || client.socket.destroyed);
      expect(client.statuses()).toEqual([202]);
    }
    for (const stranger of strangers) stranger.socket.destroy();
  });

  it("are not counted for the requests that tools of agents make within the service", async ({
    newSender,
    service,
    metric,
  }) => {
    const { mailbox, api_key: key } = await newSender();
    for (let id = 0; id < 2 * maxConnections; id++) {
      const answer = await service.call("POST", "/mcp", {
        key,
        headers: { accept: "application/json, text/event-stream" },
        body: { jsonrpc: "2.0", id, method: "tools/call", params: { name: "list_targets", arguments: {} } },
      });
      expect(answer.status).toBe(200);
    }
    expect(await metric("postrider_http_connections")).toBeLessThanOrEqual(5);
    const client = await pipeline(service.port, itemBytes({ targetId: mailbox, key }));
    await until(client.statuses, (statuses) => statuses.length === 1);
    expect(client.statuses()).toEqual([202]);
  });

  it("of one organization are closed after their answers when it has more than its share", async ({
    newSender,
    service,
  }) => {
    const { mailbox, api_key: key } = await newSender();
    const clients: Pipeline[] = [];
    for (let count = 0; count < maxConnections - 5; count++) {
      const client = await pipeline(service.port, itemBytes({ targetId: mailbox, key }));
      await until(client.statuses, (statuses) => statuses.length === 1);
      clients.push(client);
    }
    expect(clients.every((client) => client.statuses()[0] === 202)).toBe(true);
    await clients.at(-1)!.closed;
    expect(clients.at(-1)!.text()).toMatch(/connection: close/i);
    expect(clients[0]!.text()).toMatch(/connection: keep-alive/i);
  });
});
