import { describe, expect } from "vitest";
import { createWebhookTarget, sendItem } from "./support/items.ts";
import { signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { file, sharedStartedNodeTest } from "./support/fixtures.ts";
import { freePort } from "./support/freePort.ts";

const it = sharedStartedNodeTest()
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert the content
  .extend("read", file, ({ node, account }) => async (id: string): Promise<any> => {
    const answer = await node.call("GET", `/api/v1/events/${id}`, { key: account.api_key });
    expect(answer.status).toBe(200);
    return answer.body;
  })
  .extend(
    "untilStatus",
    file,
    ({ read }) =>
      (id: string, status: string) =>
        until(
          () => read(id),
          ({ event }) => event.status === status,
        ),
  );

const seconds = expect.closeTo(Date.now() / 1000, -3);

describe("an event", () => {
  it("is read with the contract's fields, and so is each attempt", async ({
    node,
    account,
    receiver,
    untilStatus,
    read,
  }) => {
    const { id: targetId } = await createWebhookTarget(node, account, `${receiver.url}/read`);
    const headers = { "x-correlation-id": "order-7" };
    const body = { event_type: "order.made" };
    const { id } = (await node.call("POST", `/e/${targetId}`, { key: account.api_key, body, headers })).body;
    const story = await untilStatus(id, "DELIVERED");
    expect(story).toEqual({
      event: {
        id,
        org_id: account.user.org_id,
        endpoint_id: targetId,
        target_kind: "webhook",
        event_type: "order.made",
        correlation_id: "order-7",
        status: "DELIVERED",
        retry_count: 0,
        max_retries: 8,
        attempts: 1,
        max_attempts: 9,
        next_attempt_at: null,
        last_status_code: 200,
        last_error: null,
        held: false,
        is_replay: 0,
        source_event_id: null,
        webhook_id: id,
        replayed_by: null,
        replay_id: null,
        publication_id: null,
        erased_at: null,
        created_at: seconds,
        updated_at: seconds,
      },
      delivery_attempts: [
        {
          id: expect.stringMatching(/^da_[0-9a-f]{32}$/),
          event_id: id,
          status_code: 200,
          duration_ms: expect.any(Number),
          error: null,
          attempted_at: seconds,
          response_body: "ok",
        },
      ],
    });
    expect(await read(id)).toEqual(story);
    const session = await node.call("GET", `/api/v1/events/${id}`, { session: account.session_token });
    expect(session.body).toEqual(story);
  });

  it("counts its retries, states when the next is due, and lists every attempt in order", async ({
    receiver,
    node,
    account,
    untilStatus,
  }) => {
    receiver.answer = (_received, response) => response.writeHead(503).end("busy \u{1f4a4}");
    const { id: targetId } = await createWebhookTarget(node, account, `${receiver.url}/busy`, {
      max_retries: 1,
      retry_interval_seconds: 2,
    });
    const id = await sendItem(node, account, targetId);
    const { event } = await untilStatus(id, "RETRYING");
    expect(event).toMatchObject({ retry_count: 0, max_retries: 1 });
    expect(event.next_attempt_at).toBeGreaterThanOrEqual(event.created_at);
    expect(event).toMatchObject({ attempts: 1, max_attempts: 2, last_status_code: 503, held: false });
    expect(event.last_error).toContain("503");
    const { event: failed, delivery_attempts: attempts } = await untilStatus(id, "FAILED");
    expect(failed).toMatchObject({ retry_count: 1, next_attempt_at: null });
    expect(attempts).toMatchObject([
      { status_code: 503, error: expect.stringContaining("503"), response_body: "busy \u{1f4a4}" },
      { status_code: 503, error: expect.stringContaining("503") },
    ]);
    expect(attempts[0].id).not.toBe(attempts[1].id);
    expect(attempts[1].attempted_at).toBeGreaterThanOrEqual(attempts[0].attempted_at);
    expect(failed.updated_at).toBeGreaterThanOrEqual(attempts[1].attempted_at);
  });

  it("has status_code 0 and a reason when no answer arrived", async ({ node, account, untilStatus }) => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/`;
    const { id: targetId } = await createWebhookTarget(node, account, url, { max_retries: 0 });
    const id = await sendItem(node, account, targetId);
    const { delivery_attempts: attempts } = await untilStatus(id, "FAILED");
    expect(attempts).toMatchObject([
      { status_code: 0, error: expect.stringMatching(/\S/), response_body: null },
    ]);
  });

  it("says that it is held while its target is disabled, and names no time for the next attempt", async ({
    receiver,
    node,
    account,
    untilStatus,
    read,
  }) => {
    receiver.answer = (_received, response) => response.writeHead(500).end();
    const { id: targetId } = await createWebhookTarget(node, account, `${receiver.url}/held`);
    const id = await sendItem(node, account, targetId);
    expect((await untilStatus(id, "RETRYING")).event.next_attempt_at).toEqual(expect.any(Number));
    const key = account.api_key;
    await node.call("PATCH", `/api/v1/targets/${targetId}`, { key, body: { enabled: false } });
    const { event } = await until(
      () => read(id),
      ({ event: { held } }) => held,
    );
    expect(event).toMatchObject({ status: "RETRYING", held: true, next_attempt_at: null, attempts: 1 });
  });

  it("shows in a list the requested extra fields, whether it was delivered alone, with others, or not at all", async ({
    account,
    receiver,
    node,
    untilStatus,
  }) => {
    const key = account.api_key;
    receiver.answer = ({ path }, response) => response.writeHead(path === "/bad" ? 418 : 200).end();
    const good = await createWebhookTarget(node, account, `${receiver.url}/good`);
    const bad = await createWebhookTarget(node, account, `${receiver.url}/bad`);
    const box = (
      await node.call("POST", "/api/v1/targets", { key, body: { kind: "mailbox", name: "fields" } })
    ).body as { id: string };
    const alone = await sendItem(node, account, good.id);
    await untilStatus(alone, "DELIVERED");
    const together = await Promise.all(Array.from({ length: 12 }, () => sendItem(node, account, good.id)));
    for (const id of together) await untilStatus(id, "DELIVERED");
    const refused = await sendItem(node, account, bad.id);
    await untilStatus(refused, "RETRYING");
    const message = await sendItem(node, account, box.id);
    const fields = "attempts,last_status_code,next_attempt_at,duration_ms";
    const answer = await node.call("GET", `/api/v1/events?limit=15&fields=${fields}`, { key });
    // oxlint-disable-next-line typescript/no-explicit-any -- tests assert the content
    const shown = new Map<string, any>(answer.body.events.map((event: { id: string }) => [event.id, event]));
    const delivered = {
      attempts: 1,
      last_status_code: 200,
      next_attempt_at: null,
      duration_ms: expect.any(Number),
    };
    for (const id of [alone, ...together]) expect(shown.get(id)).toMatchObject(delivered);
    expect(shown.get(refused)).toMatchObject({
      attempts: 1,
      last_status_code: 418,
      next_attempt_at: expect.any(Number),
    });
    expect(shown.get(message)).toMatchObject({ attempts: 0, last_status_code: null, duration_ms: null });
    const one = await node.call("GET", "/api/v1/events?limit=1&fields=attempts", { key });
    expect(Object.keys(one.body.events[0]).sort()).toEqual(
      ["attempts", "created_at", "endpoint_id", "event_type", "id", "status", "updated_at"].sort(),
    );
  });

  it("of a mailbox has the state of its message", async ({ account, node, read }) => {
    const key = account.api_key;
    const body = { kind: "mailbox", name: "inbox" };
    const { id: mailboxId } = (await node.call("POST", "/api/v1/targets", { key, body })).body;
    const id = await sendItem(node, account, mailboxId, { event_type: "note" });
    expect(await read(id)).toMatchObject({
      event: { status: "UNREAD", target_kind: "mailbox", endpoint_id: mailboxId, next_attempt_at: null },
      delivery_attempts: [],
    });
    await node.call("POST", `/api/v1/mailbox-messages/${id}/claim`, { key });
    expect((await read(id)).event.status).toBe("CLAIMED");
    await node.call("POST", `/api/v1/mailbox-messages/${id}/ack`, { key });
    expect((await read(id)).event.status).toBe("ACKNOWLEDGED");
  });

  it("is answered with 404, also to replay it, when it is unknown, another organization's or not an id", async ({
    node,
    account,
    receiver,
  }) => {
    const { id: targetId } = await createWebhookTarget(node, account, `${receiver.url}/mine`);
    const id = await sendItem(node, account, targetId);
    const other = await signUp(node);
    const unknown = `${id.slice(0, 31)}${id.endsWith("0") ? "1" : "0"}`;
    for (const [owner, path] of [
      [other, id],
      [account, unknown],
      [account, "0".repeat(32)],
      [account, "f".repeat(32)],
      [account, "x"],
      [account, "%00"],
      [account, id.toUpperCase()],
    ] as const) {
      const key = owner.api_key;
      const missing = { status: 404, body: { error: "not found" } };
      expect(await node.call("GET", `/api/v1/events/${path}`, { key })).toMatchObject(missing);
      expect(await node.call("POST", `/api/v1/events/${path}/replay`, { key })).toMatchObject(missing);
    }
  });
});

/** A port that was just closed. */
