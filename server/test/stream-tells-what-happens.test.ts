import { describe, expect, onTestFinished } from "vitest";
import { newProcessRecord, noteAlive, noteEnd } from "../src/postgres/processes.ts";
import { createClient, type StreamEvent } from "../../sdk/src/client.ts";
import { type EventStream, openEventStream, type Told } from "./support/eventStream.ts";
import { createWebhookTarget, sendItem, sendItems } from "./support/items.ts";
import { createAgentTarget } from "./support/agentTargets.ts";
import { createMailbox } from "./support/mailbox.ts";
import { startReceiver } from "./support/receiver.ts";
import { type Account, createTestNode, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { startScriptedAgent } from "./support/scriptedAgent.ts";
import { file, startedNodeTest } from "./support/fixtures.ts";

const env = { POSTRIDER_ALLOW_HTTP_TARGETS: "true", POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8" };

const it = startedNodeTest()
  .extend("failing", file, async ({}, { onCleanup }) => {
    const failing = await startReceiver((_request, response) => void response.writeHead(500).end());
    onCleanup(() => failing.stop());
    return failing;
  })
  // Only the first node delivers, so that the sender of each event is known.
  .extend("other", file, ({ newNode }) => newNode({ POSTRIDER_ROLES: "api" }))
  .extend("urls", file, async ({ node, other }) => [await node.listen(), await other.listen()] as const)
  .extend(
    "follow",
    file,
    ({ urls }) =>
      async (
        account: Account,
        options: { at?: 0 | 1; query?: string; lastId?: string; session?: boolean } = {},
      ): Promise<EventStream> => {
        const stream = await openEventStream(
          urls[options.at ?? 0],
          {
            ...(options.session
              ? { "x-session-token": account.session_token }
              : { authorization: `Bearer ${account.api_key}` }),
            ...(options.lastId !== undefined && { "last-event-id": options.lastId }),
          },
          options.query,
        );
        onTestFinished(() => stream.close());
        return stream;
      },
  );

function of(event: string, id: string): (told: Told) => boolean {
  return (told) =>
    told.event === event && (told.data.id === id || told.data.event_id === id || told.data.target_id === id);
}

describe("a stream", () => {
  it("reports an item, its attempt and its target, with a key or a session", async ({
    own: { account },
    node,
    follow,
    receiver,
  }) => {
    const streams = [await follow(account), await follow(account, { session: true })];
    const target = await createWebhookTarget(node, account, receiver.url);
    const id = await sendItem(node, account, target.id, { event_type: "order.made" });
    for (const stream of streams) {
      expect(stream.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
      expect(stream.headers["cache-control"]).toBe("no-store");
      expect(stream.headers["x-request-id"]).toBeTypeOf("string");
      expect((await stream.next(of("target", target.id))).data).toEqual({ id: target.id });
      expect((await stream.next(of("item", id))).data).toEqual({
        id,
        target_id: target.id,
        event_type: "order.made",
        status: "QUEUED",
        created_at: expect.closeTo(Date.now() / 1000, -3),
      });
      expect((await stream.next(of("attempt", id))).data).toEqual({
        event_id: id,
        target_id: target.id,
        number: 1,
        status_code: 200,
        duration_ms: expect.any(Number),
        error: null,
        outcome: "delivered",
        next_attempt_at: null,
      });
    }
  });

  it("reports when a failed attempt is repeated", async ({ own: { account }, node, failing, follow }) => {
    const target = await createWebhookTarget(node, account, failing.url);
    const stream = await follow(account, { query: "?types=attempt" });
    const id = await sendItem(node, account, target.id);
    const { data } = await stream.next(of("attempt", id));
    expect(data).toMatchObject({ status_code: 500, outcome: "retrying", error: expect.any(String) });
    expect(data.next_attempt_at).toBeGreaterThan(Date.now() / 1000 + 10);
    expect(stream.told.filter(({ event }) => event !== "attempt")).toEqual([]);
  });

  it("reports a target's open circuit once it can be read", async ({
    own: { account },
    node,
    other,
    failing,
    follow,
  }) => {
    const target = await createWebhookTarget(node, account, failing.url, { retry_interval_seconds: 3600 });
    const stream = await follow(account, { at: 1, query: "?types=target" });
    await sendItems(node, account, target.id, 12);
    let seen = 0;
    await until(
      async () => {
        // The health is read only after an event about the target.
        if (stream.told.length === seen) return undefined;
        seen = stream.told.length;
        const path = `/api/v1/targets/${target.id}/health`;
        return (await other.call("GET", path, { key: account.api_key })).body.circuit;
      },
      (circuit) => circuit === "open",
    );
    expect(stream.told.every(of("target", target.id))).toBe(true);
  });

  it("reports messages of mailboxes that arrive, are claimed and are acknowledged", async ({
    node,
    follow,
  }) => {
    const box = await createMailbox(node);
    const stream = await follow(box.account, { query: "?types=mailbox" });
    await box.send({});
    await stream.next(of("mailbox", box.id));
    const seen = stream.told.length;
    const { body } = await box.post("claim", {});
    await until(
      () => stream.told.length,
      (count) => count > seen,
    );
    const claimed = stream.told.length;
    const [{ id, claim_token }] = body.messages;
    await box.post("ack", { messages: [{ id, claim_token }] });
    await until(
      () => stream.told.length,
      (count) => count > claimed,
    );
    expect(stream.told.every(of("mailbox", box.id))).toBe(true);
  });

  it("reports nothing of another organization", async ({ node, follow, receiver }) => {
    const [account, stranger] = [await signUp(node), await signUp(node)];
    const [stream, strangers] = [await follow(account), await follow(stranger)];
    const target = await createWebhookTarget(node, account, receiver.url);
    const id = await sendItem(node, account, target.id);
    await stream.next(of("attempt", id));
    const own = await createWebhookTarget(node, stranger, receiver.url);
    await strangers.next(of("target", own.id));
    expect(strangers.told.map(({ data }) => data.id)).toEqual([own.id]);
  });

  it("on another node reports the changes of this node", async ({
    own: { account },
    node,
    receiver,
    follow,
  }) => {
    const target = await createWebhookTarget(node, account, receiver.url);
    const stream = await follow(account, { at: 1 });
    // The delivering node learns of the stream within a second; earlier changes are not sent: see the next test.
    const isTold = (): boolean => stream.told.some(({ event }) => event === "attempt");
    await until(async () => {
      await sendItem(node, account, target.id);
      return isTold();
    }, Boolean);
    expect(stream.told.map(({ data }) => data.target_id)).toContain(target.id);
  });

  it("is told to reload once the other nodes know of it, because they sent nothing before", async ({
    own: { account },
    pool,
    follow,
  }) => {
    const stream = await follow(account);
    for (const version of ["1.0.0", "1.0.1"]) {
      const record = newProcessRecord(version);
      await noteAlive(pool, record);
      // As long as other processes run, every new stream is told to reload.
      onTestFinished(() => noteEnd(pool, record));
    }
    await stream.next(({ event }) => event === "reset");
    expect(stream.told.map(({ data }) => data)).toEqual([{ reason: "unknown" }]);
  });

  it("reports the items created by a replay of a publication", async ({
    own: { account },
    node,
    failing,
    follow,
  }) => {
    const target = await createWebhookTarget(node, account, failing.url, { max_retries: 0 });
    const call = (path: string, body: object) =>
      node.call("POST", path, { key: account.api_key, body, headers: { "x-event-type": "order.made" } });
    const stream = await follow(account);
    const published = await call("/p", {});
    await stream.next(of("attempt", published.body.items[0].id));
    const box = await createMailbox(node, {}, account);
    for (const to of ["failed", "added"]) {
      const replayed = await call(`/api/v1/publications/${published.body.id}/replay`, { to });
      const [item] = replayed.body.items;
      const { data } = await stream.next(of("item", item.id));
      const ofItem = to === "failed" ? [target.id, "QUEUED"] : [box.id, "UNREAD"];
      expect([data.target_id, data.status, data.event_type]).toEqual([...ofItem, "order.made"]);
    }
  });

  it("reports the item created from an agent's result", async ({
    own: { account },
    node,
    follow,
    receiver,
  }) => {
    const agent = await startScriptedAgent();
    onTestFinished(() => agent.stop());
    const takes = await createWebhookTarget(node, account, receiver.url, { event_types: ["handoff.*"] });
    const leaves = await createWebhookTarget(node, account, receiver.url, { event_types: ["order.*"] });
    const box = await createMailbox(node, {}, account);
    const stream = await follow(account, { query: "?types=item" });
    for (const [to, status] of [
      [takes.id, "QUEUED"],
      [leaves.id, "FILTERED"],
      [box.id, "UNREAD"],
    ] as const) {
      const asked = await createAgentTarget(node, account, agent.cardUrl, { result_target_id: to });
      await sendItem(node, account, asked, "work");
      expect((await stream.next(of("item", to))).data).toMatchObject({
        target_id: to,
        event_type: "handoff.completed",
        status,
      });
    }
  });

  it("reports numbers instead of items when there are too many", async ({
    own: { account },
    node,
    receiver,
    follow,
  }) => {
    const target = await createWebhookTarget(node, account, receiver.url);
    const stream = await follow(account, { query: "?types=item,attempt" });
    const ids = await sendItems(node, account, target.id, 400);
    const sums = await until(
      () => sumsOf(stream.told),
      ({ accepted, delivered }) => accepted >= ids.length && delivered >= ids.length,
    );
    expect(sums).toEqual({ accepted: ids.length, delivered: ids.length });
    expect(stream.told.some(({ event }) => event === "summary")).toBe(true);
  });

  function sumsOf(told: readonly Told[]): { accepted: number; delivered: number } {
    const sums = { accepted: 0, delivered: 0 };
    for (const { event, data } of told) {
      if (event === "item") sums.accepted++;
      if (event === "attempt") sums.delivered++;
      for (const target of data.targets ?? []) {
        sums.accepted += target.accepted;
        sums.delivered += target.delivered;
      }
    }
    return sums;
  }
});

describe("a stream that reconnects", () => {
  it("continues after the last event it received", async ({ own: { account }, node, receiver, follow }) => {
    const target = await createWebhookTarget(node, account, receiver.url);
    const stream = await follow(account);
    const before = await sendItem(node, account, target.id);
    await stream.next(of("attempt", before));
    const lastId = stream.lastId();
    stream.close();
    const meanwhile = await sendItem(node, account, target.id);
    await until(() => receiver.received.some((each) => each.id === meanwhile), Boolean);
    const again = await follow(account, { lastId });
    await again.next(of("attempt", meanwhile));
    expect(again.told.some(({ event }) => event === "reset")).toBe(false);
  });

  it("is told to reload when the missed events are unknown", async ({ own: { account }, follow }) => {
    const stream = await follow(account, { lastId: "1700000000000-0123abcd" });
    expect((await stream.next(({ event }) => event === "reset")).data).toEqual({ reason: "unknown" });
  });
});

describe("the SDK's stream client", () => {
  it("reconnects after a lost connection, and reports when the service was restarted meanwhile", async ({
    own: { account },
    node,
    receiver,
    database,
    urls,
  }) => {
    const target = await createWebhookTarget(node, account, receiver.url);
    let service: string | undefined = urls[0];
    let cutting = new AbortController();
    const client = createClient({
      baseUrl: urls[0],
      apiKey: account.api_key,
      retryBaseMs: 10,
      fetch: async (input, init) => {
        if (service === undefined) throw new TypeError("fetch failed");
        const signal = AbortSignal.any([cutting.signal, ...(init?.signal ? [init.signal] : [])]);
        return fetch(new Request(input).url.replace(urls[0], service), { ...init, signal });
      },
    });
    const ending = new AbortController();
    const seen: StreamEvent[] = [];
    const following = (async () => {
      for await (const event of client.follow({ types: ["attempt"], signal: ending.signal }))
        seen.push(event);
    })();
    const isSeen = (id: string): boolean =>
      seen.some(({ type, data }) => type === "attempt" && data.event_id === id);
    // The test cannot see whether the stream is open yet.
    await until(async () => {
      await sendItem(node, account, target.id);
      return seen.length > 0;
    });

    service = undefined;
    cutting.abort();
    const meanwhile = await sendItems(node, account, target.id, 5);
    await until(() => meanwhile.every((id) => receiver.received.some((each) => each.id === id)));
    cutting = new AbortController();
    service = urls[0];
    await until(() => meanwhile.every(isSeen));
    expect(seen.filter(({ type }) => type === "reset")).toEqual([]);

    const restarted = createTestNode(database, env);
    onTestFinished(() => restarted.stop());
    service = await restarted.listen();
    restarted.service.start();
    cutting.abort();
    cutting = new AbortController();
    await until(() => seen.some(({ type }) => type === "reset"));
    const last = await sendItem(restarted, account, target.id);
    await until(() => isSeen(last));
    ending.abort();
    await following;
  });
});

describe("the end of a stream", () => {
  it("comes at once when its key is revoked on another node, and nothing is sent afterwards", async ({
    own: { account },
    node,
    receiver,
    follow,
    other,
  }) => {
    const target = await createWebhookTarget(node, account, receiver.url);
    const { body } = await node.call("POST", "/api/v1/keys", {
      session: account.session_token,
      body: { name: "watcher" },
    });
    const stream = await follow({ ...account, api_key: body.key });
    const removed = await other.call("DELETE", `/api/v1/keys/${body.id}`, { key: account.api_key });
    expect(removed.status).toBe(200);
    const id = await sendItem(node, account, target.id);
    await until(() => stream.hasEnded(), Boolean);
    expect(stream.told.at(-1)).toMatchObject({ event: "end", data: { reason: "unauthorized" } });
    expect(stream.told.some(of("item", id))).toBe(false);
  });

  it("comes when its session is logged out", async ({ own: { account }, follow, other }) => {
    const stream = await follow(account, { session: true });
    await other.call("POST", "/api/v1/auth/logout", { session: account.session_token });
    await until(() => stream.hasEnded(), Boolean);
    expect(stream.told.at(-1)).toMatchObject({ event: "end", data: { reason: "unauthorized" } });
  });

  it("comes when the service stops, which does not wait for clients", async ({ database, node }) => {
    const stopping = createTestNode(database, env);
    const url = await stopping.listen();
    const account = await signUp(node);
    const stream = await openEventStream(url, { authorization: `Bearer ${account.api_key}` });
    await stopping.stop();
    expect(stream.told.at(-1)).toMatchObject({ event: "end", data: { reason: "stopping" } });
  });
});

it("a HEAD request does not leave a stream open", async ({ own: { account }, urls, follow }) => {
  const headers = { authorization: `Bearer ${account.api_key}` };
  // More requests than the streams that an organization may have at a time.
  for (let n = 0; n < 201; n++) {
    const { status } = await fetch(`${urls[0]}/api/v1/stream`, { method: "HEAD", headers });
    expect(status).toBe(200);
  }
  expect((await follow(account)).status).toBe(200);
});

describe("a stream is refused", () => {
  it.for<[string, number, string | RegExp]>([
    ["?types=item,orders", 400, /types: "orders" is not one of/],
    ["?types=", 400, /types/],
  ])("%s", async ([query, status, message], { node }) => {
    const account = await signUp(node);
    const answer = await node.call("GET", `/api/v1/stream${query}`, { key: account.api_key });
    expect(answer.status).toBe(status);
    expect(answer.body.error).toMatch(message);
  });

  it("with an invalid Last-Event-ID", async ({ node }) => {
    const { api_key: key } = await signUp(node);
    const headers = { "last-event-id": "abc" };
    expect((await node.call("GET", "/api/v1/stream", { key, headers })).status).toBe(400);
  });
});
