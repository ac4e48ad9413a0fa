import { randomInt } from "node:crypto";
import { describe, expect } from "vitest";
import { citusUrl } from "./support/citus.ts";
import { acceptedEvents, createWebhookTarget } from "./support/items.ts";
import type { ServiceProcess } from "./support/serviceProcess.ts";
import { type Answer, signUp } from "./support/testNode.ts";
import { file, sharedServiceTest } from "./support/fixtures.ts";

const it = sharedServiceTest()
  .extend("other", file, ({ newService, proxy }) => newService({}, proxy.url))
  .extend(
    "send",
    file,
    ({ target, account }) =>
      (
        node: ServiceProcess,
        idempotencyKey: string,
        { payload = '{"n":1}', path = `/t/${target.id}`, key = account.api_key } = {},
      ): Promise<Answer> =>
        node.call("POST", path, { key, payload, headers: { "idempotency-key": idempotencyKey } }),
  );

function newKey(): string {
  return `key-${randomInt(2 ** 47)}`;
}

describe("the same key", () => {
  it("with the same body returns the first item, and marks the answer as a repetition", async ({
    send,
    service,
    other,
  }) => {
    const key = newKey();
    const first = await send(service, key);
    expect(first.status).toBe(202);
    expect(first.headers["idempotency-replayed"]).toBeUndefined();
    const again = await send(other, key);
    expect([again.status, again.body]).toEqual([202, first.body]);
    expect(again.headers["idempotency-replayed"]).toBe("true");
  });

  it("with another body is refused, even if only a space differs", async ({ send, service, other }) => {
    const key = newKey();
    await send(service, key);
    for (const payload of ['{"n":2}', '{"n": 1}']) {
      const answer = await send(other, key, { payload });
      expect([answer.status, answer.body.error]).toEqual([409, expect.stringContaining("Idempotency-Key")]);
    }
  });

  it("in quotes, as in the RFC draft, is the same as without; at /e/ it is the same as at /t/", async ({
    send,
    service,
    target,
  }) => {
    const key = newKey();
    const { body: first } = await send(service, key);
    expect((await send(service, `"${key}"`)).body.id).toBe(first.id);
    expect((await send(service, key, { path: `/e/${target.id}` })).body.id).toBe(first.id);
  });

  it("for another target, or by another organization, is another item", async ({
    service,
    account,
    receiver,
    send,
  }) => {
    const key = newKey();
    const neighbour = await signUp(service);
    const second = await createWebhookTarget(service, account, receiver.url);
    const theirs = await createWebhookTarget(service, neighbour, receiver.url);
    const ids = [
      (await send(service, key)).body.id,
      (await send(service, key, { path: `/t/${second.id}` })).body.id,
      (await send(service, key, { path: `/t/${theirs.id}`, key: neighbour.api_key })).body.id,
    ];
    expect(new Set(ids).size).toBe(3);
  });

  it("of a refused item can be used again", async ({ send, service, account, receiver }) => {
    const key = newKey();
    expect((await send(service, key, { payload: "{" })).status).toBe(400);
    const small = await createWebhookTarget(service, account, receiver.url, { max_payload_bytes: 10 });
    const path = `/t/${small.id}`;
    expect((await send(service, key, { path, payload: '"too large for it"' })).status).toBe(413);
    const answer = await send(service, key, { path, payload: '"fits"' });
    expect([answer.status, answer.headers["idempotency-replayed"]]).toEqual([202, undefined]);
  });

  it("keeps its item after the target was disabled, enabled and changed", async ({
    service,
    account,
    receiver,
    send,
    other,
  }) => {
    const changing = await createWebhookTarget(service, account, receiver.url);
    const [key, path] = [newKey(), `/t/${changing.id}`];
    const first = await send(service, key, { path });
    for (const body of [{ enabled: false }, { enabled: true }, { max_payload_bytes: 1000 }]) {
      await other.call("PATCH", `/api/v1/targets/${changing.id}`, { key: account.api_key, body });
    }
    expect((await send(service, key, { path })).body.id).toBe(first.body.id);
  });
});

it("sent a hundred times simultaneously to two processes is one item, one usage record and one delivery", async ({
  service,
  receiver,
  send,
  other,
}) => {
  const fresh = await signUp(service);
  const own = await createWebhookTarget(service, fresh, `${receiver.url}/once`);
  const keys = Array.from({ length: 12 }, newKey);
  /** As a client would: an overloaded machine answers 503, and the request is repeated. */
  const sendUntilTaken = async (node: ServiceProcess, key: string): Promise<Answer> => {
    for (;;) {
      const answer = await send(node, key, { path: `/t/${own.id}`, key: fresh.api_key });
      if (answer.status !== 503) return answer;
    }
  };
  for (const key of keys) {
    const ofKey = await Promise.all(
      Array.from({ length: 100 }, (_, index) => sendUntilTaken(index % 2 === 0 ? service : other, key)),
    );
    expect(ofKey.map((answer) => answer.status)).toEqual(Array.from({ length: 100 }, () => 202));
    expect(new Set(ofKey.map((answer) => answer.body.id)).size).toBe(1);
    expect(ofKey.filter((answer) => answer.headers["idempotency-replayed"] === undefined)).toHaveLength(1);
  }
  expect(await acceptedEvents(service, fresh)).toBe(keys.length);
  await receiver.arrivals(keys.length, { path: "/once" });
  const { body } = await service.call("GET", "/api/v1/events?limit=100", { key: fresh.api_key });
  expect(body.events).toHaveLength(keys.length);
  expect(receiver.received.filter((one) => one.path === "/once")).toHaveLength(keys.length);
});

it("sent twice simultaneously with different bodies is one item, and the other sender gets a conflict", async ({
  send,
  service,
  other,
}) => {
  for (let round = 0; round < 20; round++) {
    const key = newKey();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        send(index % 2 === 0 ? service : other, key, { payload: `${index}` }),
      ),
    );
    expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([
      202,
      ...Array.from({ length: 7 }, () => 409),
    ]);
  }
});

describe("when the connection to the database breaks after the commit and before the answer", () => {
  it("the client gets 503, and its retry gets the item that was stored", async ({
    service,
    receiver,
    send,
    other,
    proxy,
    skip,
  }) => {
    skip(
      citusUrl !== undefined,
      "items go to the worker past the proxy; npm run faults drops answers of workers",
    );
    const fresh = await signUp(service);
    const own = await createWebhookTarget(service, fresh, `${receiver.url}/swallowed`);
    const [key, path] = [newKey(), `/t/${own.id}`];
    // Prepares the statement on a connection, so that the proxy can recognize the statement's name.
    await send(other, newKey());
    const swallowed = proxy.swallowAnswerOf("accept_items");
    const [lost] = await Promise.all([send(other, key, { path, key: fresh.api_key }), swallowed]);
    expect(lost.status).toBe(503);
    expect(lost.body.error).toContain("try again");
    expect(Number(lost.headers["retry-after"])).toBeGreaterThan(0);
    const retry = await send(other, key, { path, key: fresh.api_key });
    expect([retry.status, retry.headers["idempotency-replayed"]]).toEqual([202, "true"]);
    const elsewhere = await send(service, key, { path, key: fresh.api_key });
    expect(elsewhere.body.id).toBe(retry.body.id);
    expect(await acceptedEvents(service, fresh)).toBe(1);
  });
});
