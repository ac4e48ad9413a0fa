import { describe, expect } from "vitest";
import { until } from "./support/until.ts";
import { createWebhookTarget, readEvent, sendItem, type WebhookTarget } from "./support/items.ts";
import { answerOk, isSignedWith, type Received } from "./support/receiver.ts";
import { file, sharedServiceTest } from "./support/fixtures.ts";

const it = sharedServiceTest()
  /** Creates a target with its own path at the receiver. */
  .extend(
    "newTarget",
    file,
    ({ service, account, receiver }) =>
      async (fields: Record<string, unknown> = {}): Promise<WebhookTarget & { path: string }> => {
        const path = `/target-${++targetCount}`;
        return { ...(await createWebhookTarget(service, account, receiver.url + path, fields)), path };
      },
  )
  .extend(
    "deliver",
    file,
    ({ newTarget, service, account, receiver }) =>
      async (
        payload: string | Buffer,
        headers: Record<string, string> = {},
        route: "t" | "e" = "t",
      ): Promise<{ id: string; received: Received; secret: string }> => {
        const { id: targetId, path, secret } = await newTarget();
        const answer = await service.call("POST", `/${route}/${targetId}`, {
          key: account.api_key,
          payload,
          headers,
        });
        expect(answer).toMatchObject({ status: 202, body: { status: "QUEUED" } });
        const [received] = await receiver.arrivals(1, { path });
        return { id: answer.body.id, received: received!, secret };
      },
  );

let targetCount = 0;

describe("a delivery", () => {
  it("is signed as Standard Webhooks requires, and contains the accepted item", async ({ deliver }) => {
    const beforeSeconds = Math.floor(Date.now() / 1000);
    const { id, received, secret } = await deliver('{"event_type":"order.created","n":1}');
    expect(isSignedWith(secret, received)).toBe(true);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]+={0,2}$/);
    const { headers } = received;
    expect(headers["webhook-id"]).toBe(id);
    expect(Number(headers["webhook-timestamp"])).toBeGreaterThanOrEqual(beforeSeconds);
    expect(headers["webhook-signature"]).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
    expect(headers["content-type"]).toBe("application/json");
    expect(headers["user-agent"]).toMatch(/^Postrider\/\d/);
    expect(headers["x-event-type"]).toBe("order.created");
  });

  it("is signed with that target's secret only", async ({ deliver, newTarget }) => {
    const { received } = await deliver("{}");
    const { secret: another } = await newTarget();
    expect(isSignedWith(another, received)).toBe(false);
    received.body[0] = "[".charCodeAt(0);
    expect(isSignedWith(another, received)).toBe(false);
  });

  it("has the event type of the body rather than that of the header, and the correlation id", async ({
    deliver,
  }) => {
    const headers = { "x-event-type": "from.header", "x-correlation-id": "order-7" };
    const both = await deliver('{"event_type":"from.body"}', headers);
    expect(both.received.headers).toMatchObject({
      "x-event-type": "from.body",
      "x-correlation-id": "order-7",
    });
    const one = await deliver("[]", headers, "e");
    expect(one.received.headers).toMatchObject({
      "x-event-type": "from.header",
      "x-correlation-id": "order-7",
    });
    const none = await deliver("7");
    expect(none.received.headers).not.toHaveProperty("x-event-type");
    expect(none.received.headers).not.toHaveProperty("x-correlation-id");
  });

  it("contains no credential or key of the sender", async ({ deliver, account }) => {
    const { received } = await deliver("{}", { "idempotency-key": "order-7-key", cookie: "a=b" });
    const raw = JSON.stringify(received.headers);
    for (const secret of [account.api_key, "ak_live_", "order-7-key", "a=b"])
      expect(raw).not.toContain(secret);
  });

  it.for([
    ["blanks and line ends", ' \r\n\t{ "a" :\n 1 , "b":[ ] }\n '],
    ["a key twice", '{"a":1,"a":2,"a":{"a":3}}'],
    ["escapes where none are needed", '"\\u0041\\u00e9\\ud83d\\ude00\\/\\u0000"'],
    ["characters beyond ASCII", '{"grüße":"日本語 😀 \u2028"}'],
    ["a lone surrogate as an escape", '"\\ud800"'],
    ["numbers that no double holds", "[12345678901234567890, 1.10, 1E400, -0, 0.1e-999, 1e5]"],
    ["a bare value", "null"],
    ["the names that objects have anyway", '{"__proto__":{"event_type":"x"},"constructor":1,"toString":2}'],
    ["deep nesting", `${"[".repeat(20_000)}${"]".repeat(20_000)}`],
    ["one byte", "1"],
    ["a megabyte", `"${"é".repeat(524_287)}"`],
  ] as const)("has the payload's bytes exactly as received: %s", async ([_what, payload], { deliver }) => {
    const { received, secret } = await deliver(payload);
    expect(received.body.equals(Buffer.from(payload))).toBe(true);
    expect(received.headers["content-length"]).toBe(String(Buffer.byteLength(payload)));
    expect(isSignedWith(secret, received)).toBe(true);
  });

  it("has the same id on every attempt, and a new timestamp and signature", async ({
    newTarget,
    receiver,
    service,
    account,
  }) => {
    // With 20 % of jitter, two attempts at an interval of one second may share a timestamp.
    const { id: targetId, path, secret } = await newTarget({ retry_interval_seconds: 2 });
    let attempts = 0;
    receiver.answer = (received, response) => {
      if (received.path === path && ++attempts === 1) response.writeHead(500).end();
      else answerOk(received, response);
    };
    const id = await sendItem(service, account, targetId);
    const [first, second] = await receiver.arrivals(2, { path });
    expect([first!.id, second!.id]).toEqual([id, id]);
    expect(second!.headers["webhook-timestamp"]).not.toBe(first!.headers["webhook-timestamp"]);
    expect(second!.headers["webhook-signature"]).not.toBe(first!.headers["webhook-signature"]);
    for (const received of [first!, second!]) expect(isSignedWith(secret, received)).toBe(true);
    await until(async () => {
      const { event, delivery_attempts: record } = await readEvent(service, account, id);
      return event.status === "DELIVERED" && event.retry_count === 1 && record.length === 2;
    });
  });
});

describe("rotating the secret", () => {
  it("signs with both secrets until the previous one is deleted, which takes effect at once", async ({
    newTarget,
    service,
    account,
    receiver,
  }) => {
    const { id: targetId, path, secret: first } = await newTarget();
    const call = (method: "POST" | "DELETE", what: string) =>
      service.call(method, `/api/v1/targets/${targetId}/signing-secret/${what}`, { key: account.api_key });
    let count = 0;
    const next = async (): Promise<Received> => {
      await sendItem(service, account, targetId);
      return (await receiver.arrivals(++count, { path }))[count - 1]!;
    };
    const signersOf = (received: Received, ...secrets: string[]): boolean[] =>
      secrets.map((secret) => isSignedWith(secret, received));

    expect(signersOf(await next(), first)).toEqual([true]);
    const { secret: second } = (await call("POST", "rotate")).body;
    const during = await next();
    expect(signersOf(during, first, second)).toEqual([true, true]);
    expect(String(during.headers["webhook-signature"]).split(" ")).toHaveLength(2);
    expect((await call("DELETE", "previous")).status).toBe(200);
    expect(signersOf(await next(), first, second)).toEqual([false, true]);
    const { secret: third } = (await call("POST", "rotate")).body;
    const { secret: fourth } = (await call("POST", "rotate")).body;
    expect(signersOf(await next(), second, third, fourth)).toEqual([false, true, true]);
  });
});

describe("an event_types list", () => {
  it("lets the listed types through; other items are accepted, FILTERED and never sent", async ({
    newTarget,
    service,
    account,
    receiver,
  }) => {
    const { id: targetId, path } = await newTarget({ event_types: ["a.one", "a.two"] });
    const filtered = [
      await sendItem(service, account, targetId, { event_type: "b.one" }),
      await sendItem(service, account, targetId, { event_type: "a.on" }),
      await sendItem(service, account, targetId, {}),
    ];
    const sent = await sendItem(service, account, targetId, { event_type: "a.two" });
    const arrived = await receiver.arrivals(1, { path });
    expect(arrived.map((one) => one.id)).toEqual([sent]);
    for (const id of filtered) {
      const { event, delivery_attempts: attempts } = await readEvent(service, account, id);
      expect([event.status, attempts]).toEqual(["FILTERED", []]);
    }
    expect(receiver.at(path)).toHaveLength(1);
  });
});
