import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect } from "vitest";
import { acceptedEvents, createMailboxTarget } from "./support/items.ts";
import { pipeline } from "./support/pipelines.ts";
import { itemBytes, onFrameworkPath, onFastPath } from "./support/plainRequest.ts";
import { type ServiceProcess, startService } from "./support/serviceProcess.ts";
import { type Account, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { databaseTest } from "./support/fixtures.ts";
import { holdTable } from "./support/heldLocks.ts";
import { untilWaiting } from "./support/untilWaiting.ts";

const it = databaseTest();

describe.each([
  ["with the fast path", "on", onFastPath],
  ["with the fast path, past it", "on", onFrameworkPath],
  ["without the fast path", "off", onFrameworkPath],
] as const)("%s", (_name, fastHttp, way) => {
  let service: ServiceProcess;
  let account: Account;
  let mailbox: string;

  it.beforeAll(async ({ database }) => {
    const env = { POSTRIDER_FAST_HTTP: fastHttp };
    service = await startService({ storage: { databaseUrl: database.url }, env });
    account = await signUp(service);
    mailbox = await createMailboxTarget(service, account);
  });

  afterAll(async () => {
    await service?.stop();
  });

  function item(body = "{}", more: string[] = []): Buffer {
    return way(itemBytes({ targetId: mailbox, key: account.api_key, body, more }));
  }

  async function metric(name: string): Promise<number> {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
  }

  it("a connection handles one request at a time although its client pipelines, and answers leave in order", async ({
    pool,
  }) => {
    const letGo = await holdTable(pool, "events");
    const first = await pipeline(service.port, item("0"));
    await untilWaiting(pool, "accept_items");
    const items = Array.from({ length: 50 }, (_, number) => item(String(number)));
    const second = await pipeline(service.port, Buffer.concat(items));
    const unknown = itemBytes({ targetId: mailbox, key: `ak_live_${"0".repeat(64)}` });
    second.socket.write(Buffer.concat([item("{"), unknown]));
    await until(
      () => metric("postrider_intake_waiting_items"),
      (waiting) => waiting > 0,
    );
    // An answer on another connection shows that the service has processed everything sent before.
    expect(await metric("postrider_intake_waiting_items")).toBe(1);
    expect(second.statuses()).toEqual([]);
    await letGo();
    await until(second.statuses, (statuses) => statuses.length === 52);
    expect(second.statuses()).toEqual([...Array.from({ length: 50 }, () => 202), 400, 401]);
    expect(first.statuses()).toEqual([202]);
  });

  it.for([
    ["bytes that are no request", "\u0001nonsense\r\n\r\n", 400],
    ["a line of another protocol", "GET / HTTP/3.0\r\n\r\n", 505],
    ["a head that is too large", `GET / HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(40_000)}\r\n\r\n`, 431],
  ] as const)(
    "requests behind an accepted item (%s) are refused after its answer",
    async ([_what, behind, status], { pool }) => {
      const before = await acceptedEvents(service, account);
      const letGo = await holdTable(pool, "events");
      const client = await pipeline(service.port, Buffer.concat([item(), Buffer.from(behind, "latin1")]));
      await untilWaiting(pool, "accept_items");
      await metric("postrider_http_connections");
      expect(client.statuses()).toEqual([]);
      await letGo();
      await client.closed;
      expect(client.statuses()).toEqual([202, status]);
      expect(await acceptedEvents(service, account)).toBe(before + 1);
    },
  );

  it("requests that follow an item which ends its connection are neither accepted nor billed", async () => {
    const before = await acceptedEvents(service, account);
    const last = onFrameworkPath(
      itemBytes({ targetId: mailbox, key: account.api_key, more: ["Connection: close"] }),
    );
    const client = await pipeline(service.port, Buffer.concat([last, item(), item()]));
    client.socket.on("end", () => client.socket.end());
    await client.closed;
    expect(client.statuses()).toEqual([202]);
    expect(await acceptedEvents(service, account)).toBe(before + 1);
  });

  it.each([
    [505, "another version", "GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n"],
    [505, "a version that never was", "GET /healthz HTTP/1.2\r\nHost: x\r\n\r\n"],
    [501, "an unknown coding", "POST /t/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"],
    [
      501,
      "a coding before chunked",
      "POST /t/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ],
    [
      400,
      "two lengths",
      "POST /t/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    [400, "two hosts", "GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"],
  ])("%i for %s", async (status, _what, request) => {
    const client = await pipeline(service.port, request);
    await until(client.statuses, (statuses) => statuses.length > 0);
    expect(client.statuses()).toEqual([status]);
    expect(client.text()).toContain("x-content-type-options: nosniff");
    expect(client.text()).toMatch(/\r\n\r\n\{"error":"[^"]+"\}$/);
  });

  it.each(["Host: localhost", "Authorization: Bearer x", "Content-Type: text/plain", "Idempotency-Key: k"])(
    "400 for a second %s",
    async (line) => {
      const more = line.startsWith("Idem") ? [line, line] : [line];
      const request = itemBytes({ targetId: mailbox, key: account.api_key, more });
      const client = await pipeline(service.port, request);
      await until(client.statuses, (statuses) => statuses.length > 0);
      expect(client.statuses()).toEqual([400]);
      expect(client.text()).toContain("is repeated");
    },
  );

  it("a 413 reaches clients that send their whole body before they read", async () => {
    const head = `POST /t/${mailbox} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.api_key}\r\nContent-Type: application/json\r\nContent-Length: 8388608\r\n\r\n`;
    const body = Buffer.alloc(8_388_608, 0x20);
    const clients = Array.from({ length: 20 }, async () => {
      const client = await pipeline(service.port, head);
      client.socket.pause();
      await new Promise((resolve) => client.socket.write(body, resolve));
      client.socket.resume();
      await until(client.statuses, (statuses) => statuses.length > 0);
      return client.statuses();
    });
    expect(await Promise.all(clients)).toEqual(clients.map(() => [413]));
  });

  it("a 413 reaches a client that takes six seconds to send its body", async () => {
    const head = `POST /t/${mailbox} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.api_key}\r\nContent-Type: application/json\r\nContent-Length: 8388608\r\n\r\n`;
    const client = await pipeline(service.port, head);
    client.socket.pause();
    for (let piece = 0; piece < 8; piece++) {
      await delay(piece === 0 ? 0 : 900);
      client.socket.write(Buffer.alloc(1_048_576, 0x20));
    }
    client.socket.resume();
    await until(client.statuses, (statuses) => statuses.length > 0);
    expect(client.statuses()).toEqual([413]);
  });

  it("pipelined requests for /metrics, /healthz and /openapi.json are all answered", async () => {
    const requests = ["metrics", "healthz", "openapi.json"].map((path) =>
      pipeline(service.port, `GET /${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(200)),
    );
    for (const client of await Promise.all(requests)) {
      await until(client.statuses, (statuses) => statuses.length === 200, 60_000);
      expect(new Set(client.statuses())).toEqual(new Set([200]));
    }
  });
});
