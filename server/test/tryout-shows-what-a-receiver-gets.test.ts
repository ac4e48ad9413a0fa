import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { expect } from "vitest";
import { signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { file, serviceTest } from "./support/fixtures.ts";

// As in production: neither HTTP targets nor private networks are allowed.
const it = serviceTest({ POSTRIDER_ALLOW_HTTP_TARGETS: "false", POSTRIDER_ALLOWED_NETWORKS: "" })
  .extend(
    "targetAt",
    file,
    ({ service, account }) =>
      async (url: string): Promise<{ id: string; secret: string }> => {
        const { status, body } = await service.call("POST", "/api/v1/targets", {
          key: account.api_key,
          body: { kind: "webhook", name: "tryout", url },
        });
        expect(status).toBe(200);
        return body;
      },
  )
  .extend(
    "send",
    file,
    ({ service, account }) =>
      async (targetId: string, payload: string): Promise<string> => {
        const { status, body } = await service.call("POST", `/t/${targetId}`, {
          key: account.api_key,
          payload,
        });
        expect(status).toBe(202);
        return body.id;
      },
  )
  .extend("received", file, ({ service, account }) => async (targetId: string): Promise<Received[]> => {
    const { body } = await service.call("GET", `/api/v1/targets/${targetId}/tryout`, {
      session: account.session_token,
    });
    return body.requests;
  });

interface Received {
  event_id: string;
  headers: [string, string][];
  body: string;
  body_truncated: boolean;
  signature_verified: boolean;
  answered: number;
}

function tryoutUrl(): string {
  return `https://tryout.postrider.invalid/${randomBytes(16).toString("hex")}`;
}

it("shows the exact bytes and headers, whose signature any receiver would verify", async ({
  targetAt,
  send,
  received,
  settled,
}) => {
  const target = await targetAt(tryoutUrl());
  const payload = '{"event_type": "order.created", "total": 12345678901234567890.10}';
  const id = await send(target.id, payload);
  const [request] = await until(
    () => received(target.id),
    (list) => list.length > 0,
  );
  expect(request).toMatchObject({ event_id: id, body: payload, signature_verified: true, answered: 200 });
  const headers = Object.fromEntries(request!.headers);
  expect(headers).toMatchObject({ "webhook-id": id, "x-event-type": "order.created" });
  expect(() => new Webhook(target.secret).verify(payload, headers)).not.toThrow();
  const event = await settled(id, "DELIVERED");
  expect(event.delivery_attempts).toHaveLength(1);
});

it("answers with the status in its URL, so that failures and repairs can be tried", async ({
  targetAt,
  send,
  received,
  settled,
}) => {
  const url = tryoutUrl();
  const target = await targetAt(`${url}?answer=503`);
  const id = await send(target.id, "{}");
  const failed = await settled(id, "RETRYING");
  expect(failed.delivery_attempts).toMatchObject([{ status_code: 503 }]);
  expect(await received(target.id)).toMatchObject([{ answered: 503, signature_verified: true }]);
});

it("keeps the last fifty of many requests, all of which were delivered", async ({
  targetAt,
  send,
  settled,
  received,
}) => {
  const target = await targetAt(tryoutUrl());
  const ids = await Promise.all(Array.from({ length: 200 }, () => send(target.id, '{"n":1}')));
  await settled(ids.at(-1)!, "DELIVERED");
  const list = await until(
    () => received(target.id),
    ({ length }) => length >= 50,
  );
  expect(list).toHaveLength(50);
  expect(list.every((one) => ids.includes(one.event_id))).toBe(true);
});

it("cuts a large body and says so", async ({ targetAt, send, received }) => {
  const target = await targetAt(tryoutUrl());
  await send(target.id, JSON.stringify({ text: "x".repeat(100_000) }));
  const [request] = await until(
    () => received(target.id),
    (list) => list.length > 0,
  );
  expect(request).toMatchObject({ body_truncated: true, signature_verified: true });
  expect(request!.body).toHaveLength(64 * 1024);
});

it("is closed to other organizations", async ({ targetAt, service }) => {
  const target = await targetAt(tryoutUrl());
  const stranger = await signUp(service);
  const { status } = await service.call("GET", `/api/v1/targets/${target.id}/tryout`, {
    key: stranger.api_key,
  });
  expect(status).toBe(404);
});

it.for(["", "/", "/short", `/${"0".repeat(32)}/more`, `/${"0".repeat(32)}?answer=700`])(
  "refuses the URL with %s after its origin, naming the field",
  async (rest, { service, account }) => {
    const answer = await service.call("POST", "/api/v1/targets", {
      key: account.api_key,
      body: { kind: "webhook", name: "tryout", url: `https://tryout.postrider.invalid${rest}` },
    });
    expect(answer).toMatchObject({ status: 400, body: { error: expect.stringMatching(/^url must be /) } });
  },
);

it("allows no other internal address", async ({ service, account }) => {
  for (const url of [
    `http://tryout.postrider.invalid/${"0".repeat(32)}`,
    `https://127.0.0.1:${service.port}/${"0".repeat(32)}`,
    `http://127.0.0.1:${service.port}/try/${"0".repeat(32)}`,
  ]) {
    const answer = await service.call("POST", "/api/v1/targets", {
      key: account.api_key,
      body: { kind: "webhook", name: "guarded", url },
    });
    expect(answer.status, url).toBe(400);
  }
});
