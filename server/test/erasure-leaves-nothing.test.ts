import { describe, expect } from "vitest";
import { createWebhookTarget, readEvent, sendItem } from "./support/items.ts";
import { createMailbox } from "./support/mailbox.ts";
import { answerOk } from "./support/receiver.ts";
import { type Answer, signUp, type TestNode } from "./support/testNode.ts";
import { placesOfText } from "./support/placesOfText.ts";
import { until } from "./support/until.ts";
import { file, sharedStartedNodeTest } from "./support/fixtures.ts";
import { inTransaction } from "../src/postgres/pool.ts";
import { untilWaiting } from "./support/untilWaiting.ts";
import { redrive } from "./support/messageSteps.ts";
import { waitingRows } from "./support/storedItems.ts";

/* Erased content is in no table, whatever state the item was in. */

const secret = "erase-me-4711";

const it = sharedStartedNodeTest()
  /** A node that only serves requests. */
  .extend("idle", file, ({ newNode }) => newNode({ POSTRIDER_ROLES: "api" }))
  .extend(
    "erase",
    file,
    ({ node, account }) =>
      (id: string, by: TestNode = node): Promise<Answer> =>
        by.call("POST", `/api/v1/events/${id}/erase`, { session: account.session_token }),
  )
  .extend(
    "read",
    file,
    ({ node, account }) =>
      (path: string): Promise<Answer> =>
        node.call("GET", path, { key: account.api_key }),
  )
  .extend(
    "enable",
    file,
    ({ node, account }) =>
      (id: string, enabled: boolean): Promise<Answer> =>
        node.call("PATCH", `/api/v1/targets/${id}`, { key: account.api_key, body: { enabled } }),
  )
  .extend(
    "placesOf",
    file,
    ({ node }) =>
      (text: string): Promise<string[]> =>
        placesOfText(node.pool, text),
  );

describe("one event", () => {
  it("that was delivered loses its payload and answers at once; the record of the delivery remains", async ({
    receiver,
    node,
    account,
    settled,
    placesOf,
    erase,
    read,
  }) => {
    const words = `${secret}-delivered`;
    receiver.answer = (_received, response) => response.writeHead(200).end(`thanks for ${words}`);
    const target = await createWebhookTarget(node, account, `${receiver.url}/a`);
    const id = await sendItem(node, account, target.id, { words });
    await settled(id, "DELIVERED");
    expect(await placesOf(words)).toEqual(expect.arrayContaining(["events.payload"]));
    const answer = await erase(id);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ event_id: id, status: "DONE", total: 1, erased: 1 });
    expect(answer.body.created_by).toBe(account.user.email);
    expect(await placesOf(words)).toEqual([]);
    const { body } = await read(`/api/v1/events/${id}`);
    expect(body.event).toMatchObject({ status: "DELIVERED", erased_at: answer.body.created_at });
    expect(body.delivery_attempts[0]).toMatchObject({ status_code: 200, response_body: null });
    expect(await read(`/api/v1/events/${id}/payload`)).toMatchObject({
      status: 410,
      headers: { "x-error-code": "payload_gone" },
    });
    expect(await node.call("POST", `/api/v1/events/${id}/replay`, { key: account.api_key })).toMatchObject({
      status: 410,
      headers: { "x-error-code": "payload_gone" },
    });
    expect((await erase(id)).body).toEqual(answer.body);
    expect((await read(`/api/v1/erasures/${answer.body.id}`)).body).toEqual(answer.body);
  });

  it("that shares a row leaves the row's other events unchanged", async ({
    receiver,
    node,
    account,
    enable,
    erase,
    settled,
    placesOf,
    read,
  }) => {
    receiver.answer = (received, response) => response.writeHead(200).end(`got ${String(received.body)}`);
    const target = await createWebhookTarget(node, account, `${receiver.url}/group`, { enabled: true });
    await enable(target.id, false);
    const ids = await Promise.all(
      Array.from({ length: 30 }, (_, n) => sendItem(node, account, target.id, { words: `${secret}-g${n}-` })),
    );
    await erase(ids[3]!);
    expect((await readEvent(node, account, ids[3]!)).event.status).toBe("CANCELED");
    await enable(target.id, true);
    for (const id of ids) if (id !== ids[3]) await settled(id, "DELIVERED");
    await erase(ids[7]!);
    expect(await placesOf(`${secret}-g3-`)).toEqual([]);
    expect(await placesOf(`${secret}-g7-`)).toEqual([]);
    for (const n of [0, 6, 8, 29]) {
      expect(await placesOf(`${secret}-g${n}-`)).toContain("events.payload");
      const { body } = await read(`/api/v1/events/${ids[n]}`);
      expect(body.delivery_attempts[0].response_body).toContain(`${secret}-g${n}-`);
    }
    expect(receiver.received.filter(({ id }) => id === ids[3])).toEqual([]);
  });

  it("that waits is canceled, and is not sent", async ({ node, account, receiver, erase, idle, enable }) => {
    const target = await createWebhookTarget(node, account, `${receiver.url}/never`);
    await enable(target.id, false);
    const id = await sendItem(node, account, target.id, { secret });
    expect((await erase(id, idle)).body).toMatchObject({ status: "DONE", erased: 1 });
    expect((await readEvent(node, account, id)).event.status).toBe("CANCELED");
    expect(await waitingRows(node.pool, [target.id])).toEqual([]);
  });

  it("that is being sent is erased as well, and its answer is not stored", async ({
    receiver,
    node,
    account,
    erase,
    settled,
    placesOf,
  }) => {
    const words = `${secret}-sent`;
    let finish: (() => void) | undefined;
    receiver.answer = (_received, response) => {
      finish = () => void response.writeHead(200).end(`got ${words}`);
    };
    const target = await createWebhookTarget(node, account, `${receiver.url}/slow`);
    const id = await sendItem(node, account, target.id, { words });
    await receiver.arrivals(1, { path: "/slow" });
    expect((await erase(id)).body).toMatchObject({ status: "DONE", erased: 1 });
    receiver.answer = answerOk;
    finish!();
    const after = await sendItem(node, account, target.id, { after: true });
    await settled(after, "DELIVERED");
    const { event, delivery_attempts: attempts } = await readEvent(node, account, id);
    expect({ status: event.status, attempts }).toEqual({ status: "CANCELED", attempts: [] });
    expect(await placesOf(words)).toEqual([]);
  });

  it("that waits for a retry loses its receiver's answers, and is not tried again", async ({
    receiver,
    node,
    account,
    settled,
    erase,
    placesOf,
  }) => {
    const words = `${secret}-retry`;
    receiver.answer = (_received, response) => response.writeHead(500).end(words);
    const target = await createWebhookTarget(node, account, `${receiver.url}/retry`);
    const id = await sendItem(node, account, target.id, { words });
    await settled(id, "RETRYING");
    await erase(id);
    receiver.answer = answerOk;
    const { event, delivery_attempts: attempts } = await readEvent(node, account, id);
    expect(event.status).toBe("CANCELED");
    expect(attempts).toMatchObject([{ status_code: 500, error: "erased", response_body: null }]);
    expect(await placesOf(words)).toEqual([]);
  });

  it("is erased with its replays, and with their replays", async ({ node, account, erase, placesOf }) => {
    const words = `${secret}-copies`;
    const box = await createMailbox(node, {}, account);
    const id = await box.send({ words });
    const replay = async (of: string): Promise<string> =>
      (await node.call("POST", `/api/v1/events/${of}/replay`, { key: account.api_key })).body.id;
    const copies = [await replay(id), await replay(id)];
    copies.push(await replay(copies[0]!));
    expect((await erase(id)).body).toMatchObject({ status: "DONE", total: 4, erased: 4 });
    expect(await placesOf(words)).toEqual([]);
    expect(await box.list()).toEqual([]);
  });

  it("is erased in the tryout receiver as well, with the digest of its idempotency key", async ({
    node,
    account,
    settled,
    placesOf,
    erase,
  }) => {
    const words = `${secret}-tryout`;
    const url = `https://tryout.postrider.invalid/${"0af3".repeat(8)}`;
    const target = await createWebhookTarget(node, account, url);
    const body = { words };
    const headers = { "idempotency-key": "once" };
    const sent = await node.call("POST", `/t/${target.id}`, { key: account.api_key, body, headers });
    await settled(sent.body.id, "DELIVERED");
    expect(await placesOf(words)).toContain("tryout_requests.body");
    await erase(sent.body.id);
    expect(await placesOf(words)).toEqual([]);
    // Until the digest of its body is overwritten, the same request still returns the erased item.
    const again = await until(
      () => node.call("POST", `/t/${target.id}`, { key: account.api_key, body, headers }),
      ({ status }) => status === 409,
    );
    expect(again.headers["x-error-code"]).toBe("idempotency_conflict");
  });

  it("of another organization is not found", async ({ node, account }) => {
    const stranger = await signUp(node);
    const box = await createMailbox(node, {}, account);
    const id = await box.send({ words: "kept" });
    for (const [event, key] of [
      [id, stranger.api_key],
      ["0".repeat(32), account.api_key],
      ["x", account.api_key],
    ] as const) {
      expect((await node.call("POST", `/api/v1/events/${event}/erase`, { key })).status).toBe(404);
    }
    expect((await box.read(id)).body.payload).toEqual({ words: "kept" });
  });
});

describe("a message", () => {
  it.for(["unread", "claimed", "acknowledged", "dead", "rejected by hand"])(
    "that is %s is erased, and the messages behind it become claimable",
    async (state, { node, account, erase, placesOf }) => {
      const words = `${secret}-${state.replaceAll(" ", "-")}`;
      const box = await createMailbox(node, {}, account);
      const headers = { "x-ordering-key": "k" };
      const id = await box.send({ words }, headers);
      const next = await box.send({ n: 2 }, headers);
      const claims = state === "unread" ? [] : (await box.post("claim", { max: 1 })).body.messages;
      if (state === "acknowledged") await box.post("ack", { messages: claims });
      if (state === "dead") await box.post("reject", { messages: claims, reason: words });
      if (state === "rejected by hand") {
        await node.call("POST", `/api/v1/mailboxes/${box.id}/messages/${id}/force-reject`, {
          session: account.session_token,
          body: { reason: words },
        });
      }
      expect((await erase(id)).body).toMatchObject({ status: "DONE", erased: 1 });
      expect(await placesOf(words)).toEqual([]);
      const { body } = await box.read(id);
      expect(body).toMatchObject({ payload: null, dead_reason: null });
      const status = state === "acknowledged" ? "ACKNOWLEDGED" : "CANCELED";
      expect((await readEvent(node, account, id)).event.status).toBe(status);
      if (state === "claimed") {
        const { body: late } = await box.post("ack", { messages: claims });
        if (late.results[0].status !== 409) throw new Error(`acknowledged: ${JSON.stringify(late)}`);
      }
      const { body: claimed } = await box.post("claim", { max: 10 });
      expect(claimed.messages.map((one: { id: string }) => one.id)).toEqual([next]);
      expect((await box.post("redrive", {})).body).toEqual({ redriven: 0 });
      expect(await box.stats()).toMatchObject({ ready: 0, claimed: 1, blocked: 0, dead: 0 });
    },
  );

  it("that is redriven simultaneously is in no later claim", async ({ node, account, erase }) => {
    const box = await createMailbox(node, {}, account);
    const id = await box.send({ secret });
    await box.post("reject", { messages: (await box.post("claim", {})).body.messages, reason: "no" });
    const cell = node.cellPool(account.user.org_id);
    const erased = await inTransaction(cell, async (client) => {
      expect(await redrive(client, box.id)).toBe(1);
      const answer = erase(id);
      await untilWaiting(cell, "erase_event");
      return { answer };
    });
    expect((await erased.answer).body).toMatchObject({ status: "DONE", erased: 1 });
    expect((await readEvent(node, account, id)).event.status).toBe("CANCELED");
    const next = await box.send({ n: 2 });
    expect((await box.post("claim", { max: 10 })).body.messages).toMatchObject([
      { id: next, payload: { n: 2 } },
    ]);
  });
});

describe("a correlation id", () => {
  it("is erased in the background with progress, over several pages, without other events", async ({
    node,
    account,
    read,
    placesOf,
  }) => {
    const words = `${secret}-all`;
    const box = await createMailbox(node, {}, account);
    const headers = { "x-correlation-id": "customer-7" };
    const ids = await Promise.all(Array.from({ length: 230 }, (_, n) => box.send({ words, n }, headers)));
    const other = await box.send({ words: "kept" }, { "x-correlation-id": "customer-8" });
    const begun = await node.call("POST", "/api/v1/erasures", {
      key: account.api_key,
      body: { correlation_id: "customer-7" },
    });
    expect(begun.status).toBe(202);
    expect(begun.body).toMatchObject({ correlation_id: "customer-7", event_id: null, status: "RUNNING" });
    expect(begun.body.created_by).toMatch(/^API key .* \(ak_live_.{4}\)$/);
    const { body } = await until(
      () => read(`/api/v1/erasures/${begun.body.id}`),
      ({ body: now }) => now.status === "DONE",
    );
    expect(body).toMatchObject({ total: ids.length, erased: ids.length });
    expect(await placesOf(words)).toEqual([]);
    expect((await box.list()).map(({ id }) => id)).toEqual([other]);
    const first = await read("/api/v1/erasures?limit=1");
    expect(first.body.erasures).toEqual([body]);
    const rest = await read(`/api/v1/erasures?before=${body.id}`);
    expect(rest.body.erasures.map(({ id }: { id: string }) => id)).not.toContain(body.id);
  });

  it("without events is done after one search, and is not visible to another organization", async ({
    node,
    account,
    read,
  }) => {
    const stranger = await signUp(node);
    const box = await createMailbox(node, {}, account);
    const id = await box.send({ words: "kept" }, { "x-correlation-id": "shared" });
    const { body } = await node.call("POST", "/api/v1/erasures", {
      key: stranger.api_key,
      body: { correlation_id: "shared" },
    });
    const done = await until(
      () => node.call("GET", `/api/v1/erasures/${body.id}`, { key: stranger.api_key }),
      ({ body: now }) => now.status === "DONE",
    );
    expect(done.body).toMatchObject({ total: 0, erased: 0 });
    expect((await box.read(id)).body.payload).toEqual({ words: "kept" });
    expect((await read(`/api/v1/erasures/${body.id}`)).status).toBe(404);
  });
});
