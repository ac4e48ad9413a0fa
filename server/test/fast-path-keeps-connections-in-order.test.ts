import { connect } from "node:net";
import fc from "fast-check";
import { describe, expect, onTestFinished } from "vitest";
import { acceptedEvents } from "./support/items.ts";
import { type ItemParts, itemBytes, onFastPath, plainId, plainKey } from "./support/plainRequest.ts";
import { exchangeBytes, openRawConnection, opener } from "./support/rawConnection.ts";
import { until } from "./support/until.ts";
import { file, serviceTest } from "./support/fixtures.ts";
import { writtenSoFar } from "./support/writtenLines.ts";
import { holdTable } from "./support/heldLocks.ts";
import { untilWaiting } from "./support/untilWaiting.ts";

const it = serviceTest({ LOG_LEVEL: "info", POSTRIDER_LOG_REQUESTS: "true" })
  /**
   * An item's request; fields that are not given are valid, except that the default id and key belong to no
   * organization.
   */
  .extend(
    "bytesOf",
    file,
    ({ target, account }) =>
      (item: Partial<ItemParts> = {}): Buffer =>
        itemBytes({ targetId: target.id, key: account.api_key, ...item }),
  )
  .extend("open", file, opener)
  .extend(
    "linesAbout",
    file,
    ({ service }) =>
      (requestId: string): unknown[] =>
        service
          .output()
          .split("\n")
          .filter((line) => line.includes(requestId))
          .map((line) => JSON.parse(line) as unknown),
  )
  .extend("requestCounts", file, ({ service }) => async (): Promise<Map<string, number>> => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    const lines = text.matchAll(/^postrider_http_requests_total\{(.*)\} (\d+)$/gm);
    return new Map([...lines].map(([, labels, count]) => [labels!, Number(count)]));
  });

/** Each item reads this table, also a refused one. */
const readByItems = "api_keys";

describe("a connection", () => {
  const health = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";

  it("carries many requests one after another", async ({ open, bytesOf }) => {
    const connection = await open();
    const seen = new Set<string>();
    for (let count = 0; count < 100; count++) {
      await connection.write(onFastPath(bytesOf({ body: String(count) })));
      const answer = await connection.answer();
      expect(answer.status).toBe(202);
      seen.add(answer.body);
    }
    expect(seen.size).toBe(100);
  });

  it("may change between whole requests, split requests and other requests", async ({ open, bytesOf }) => {
    const connection = await open();
    const ask = async (...pieces: (Buffer | string)[]): Promise<number> => {
      for (const piece of pieces) await connection.write(piece);
      return (await connection.answer()).status;
    };
    const [whole, refused] = [bytesOf(), bytesOf({ targetId: plainId })];
    expect(await ask(whole)).toBe(202);
    expect(await ask(refused)).toBe(404);
    expect(await ask(whole.subarray(0, 30), whole.subarray(30))).toBe(202);
    expect(await ask(whole)).toBe(202);
    expect(await ask(health)).toBe(200);
    expect(await ask(refused.subarray(0, -1), refused.subarray(-1))).toBe(404);
    expect(await ask(whole)).toBe(202);
  });

  it("with two requests in one piece gets two answers, in order", async ({ open, bytesOf }) => {
    const connection = await open();
    await connection.write(Buffer.concat([bytesOf({ targetId: plainId }), bytesOf()]));
    expect((await connection.answer()).status).toBe(404);
    expect((await connection.answer()).status).toBe(202);
  });

  it("whose bytes arrive in pieces of any size gets every answer, in order", async ({ bytesOf, service }) => {
    const kinds: [number, Buffer][] = [
      [202, bytesOf()],
      [404, bytesOf({ targetId: plainId })],
      [401, bytesOf({ key: plainKey })],
      [400, bytesOf({ body: "{" })],
      [200, Buffer.from(health)],
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(kinds.length - 1), { minLength: 1, maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 700 }), { maxLength: 8 }),
        async (order, lengths) => {
          const connection = await openRawConnection(service.port);
          try {
            let rest = Buffer.concat(order.map((kind) => kinds[kind]![1]));
            for (const length of [...lengths, Infinity]) {
              await connection.write(rest.subarray(0, length));
              rest = rest.subarray(length);
            }
            const statuses: number[] = [];
            while (statuses.length < order.length) statuses.push((await connection.answer()).status);
            expect(statuses).toEqual(order.map((kind) => kinds[kind]![0]));
          } finally {
            connection.destroy();
          }
        },
      ),
      { seed: 1, numRuns: 100 },
    );
  });

  it("whose client half-closes it after a plain request ends with the answer", async ({
    open,
    pool,
    bytesOf,
  }) => {
    const connection = await open();
    const letGo = await holdTable(pool, readByItems);
    await connection.write(onFastPath(bytesOf()));
    connection.halfClose();
    await untilWaiting(pool, "accept_items");
    await letGo();
    // The framework would drop the answer, so this request took the fast path.
    const answer = await connection.answer();
    expect(answer.status).toBe(202);
    expect(answer.headers).toContainEqual(["Connection", "close"]);
    await connection.ended;
  });

  it("whose client leaves before the answer does not affect the accepted items or the service", async ({
    service,
    account,
    open,
    bytesOf,
  }) => {
    const before = await acceptedEvents(service, account);
    for (let count = 0; count < 20; count++) {
      const connection = await open();
      await connection.write(onFastPath(bytesOf()));
      connection.destroy();
    }
    await until(
      () => acceptedEvents(service, account),
      (now) => now === before + 20,
    );
    expect((await exchangeBytes(service.port, bytesOf())).status).toBe(202);
  });
});

it("a request on the fast path has one log line and counts under its route", async ({
  service,
  requestCounts,
  target,
  bytesOf,
  linesAbout,
}) => {
  const before = await requestCounts();
  const lines: object[] = [];
  for (const [path, targetId, status] of [
    ["t", target.id, 202],
    ["e", target.id, 202],
    ["t", plainId, 404],
  ] as const) {
    const answer = await exchangeBytes(service.port, onFastPath(bytesOf({ path, targetId })));
    expect(answer.status).toBe(status);
    const route = path === "t" ? "/t/:target_id" : "/e/:endpoint_id";
    lines.push({ request_id: answer.headers[0]![1], method: "POST", route, status, msg: "request" });
  }
  const written = await until(
    () => lines.map((line) => linesAbout((line as { request_id: string }).request_id)),
    (found) => found.every(({ length }) => length > 0),
  );
  expect(written).toEqual(
    lines.map((line) => [{ level: 30, time: expect.any(String), duration_ms: expect.any(Number), ...line }]),
  );
  const after = await requestCounts();
  const added = [...after].map(([labels, count]) => [labels, count - (before.get(labels) ?? 0)] as const);
  expect(new Map(added.filter(([labels, count]) => count > 0 && labels.includes("POST")))).toEqual(
    new Map([
      ['method="POST",route="/t/:target_id",status="202"', 1],
      ['method="POST",route="/e/:endpoint_id",status="202"', 1],
      ['method="POST",route="/t/:target_id",status="404"', 1],
    ]),
  );
});

it("a stopping service closes idle connections at once, and a busy one after its answer", async ({
  newService,
  bytesOf,
  pool,
}) => {
  const stopping = await newService();
  const [fresh, idle, busy] = [
    await openRawConnection(stopping.port),
    await openRawConnection(stopping.port),
    await openRawConnection(stopping.port),
  ];
  onTestFinished(() => [fresh, idle, busy].forEach((connection) => connection.destroy()));
  for (const connection of [idle, busy]) {
    await connection.write(onFastPath(bytesOf()));
    expect((await connection.answer()).headers).toContainEqual(["Connection", "keep-alive"]);
  }
  const letGo = await holdTable(pool, readByItems);
  await busy.write(onFastPath(bytesOf()));
  await untilWaiting(pool, "accept_items");
  const stopped = stopping.stop();
  await Promise.all([fresh.ended, idle.ended]);
  await until(
    () => canConnect(stopping.port),
    (can) => !can,
  );
  await letGo();
  const answer = await busy.answer();
  expect(answer.status).toBe(202);
  expect(answer.headers).toContainEqual(["Connection", "close"]);
  await busy.ended;
  expect(await stopped).toBe(0);
});

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

it("none of these requests caused an internal error", async ({ service }) => {
  expect(await writtenSoFar(service)).not.toContain("request failed");
});
