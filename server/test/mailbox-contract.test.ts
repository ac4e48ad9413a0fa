import { describe, expect } from "vitest";
import { createMailbox } from "./support/mailbox.ts";
import { signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";

const it = sharedNodeTest()
  /** Another node on the same database, through which claims last a second. */
  .extend("hasty", file, ({ newNode }) => newNode({ POSTRIDER_MAILBOX_LEASE_SECONDS: "1" }))
  /** Another node, through which claims last a second and messages three seconds. */
  .extend("forgetful", file, ({ newNode }) =>
    newNode({ POSTRIDER_MAILBOX_LEASE_SECONDS: "1", POSTRIDER_MAILBOX_RETENTION_SECONDS: "3" }),
  );

describe("listing and reading", () => {
  it("lists by state, oldest first, without payloads; reads with payload; changes nothing", async ({
    node,
  }) => {
    const box = await createMailbox(node);
    const ids: string[] = [];
    for (const n of [1, 2, 3]) {
      ids.push(
        await box.send(
          { n, event_type: "order.made" },
          { "x-correlation-id": `c-${n}`, "x-ordering-key": `k${n}` },
        ),
      );
    }
    const listed = await box.list("?status=UNREAD");
    expect(listed.map((message) => message.id)).toEqual(ids);
    expect(listed[0]).toEqual({
      id: ids[0],
      mailbox_id: box.id,
      status: "UNREAD",
      event_type: "order.made",
      correlation_id: "c-1",
      ordering_key: "k1",
      claimed_by: null,
      claim_expires_at: null,
      claim_count: 0,
      created_at: expect.any(Number),
      expires_at: expect.any(Number),
      acknowledged_at: null,
      dead_reason: null,
    });
    const { body } = await box.read(ids[1]!);
    expect(body).toEqual({ ...listed[1], interventions: [], payload: { n: 2, event_type: "order.made" } });
    expect(body.expires_at - body.created_at).toBe(604_800);
    expect(await box.list("?status=UNREAD")).toEqual(listed);
    expect(await box.list()).toEqual(listed);
    for (const status of ["CLAIMED", "ACKNOWLEDGED", "EXPIRED", "DEAD"]) {
      expect(await box.list(`?status=${status}`)).toEqual([]);
    }
  });

  it("pages by limit and after", async ({ node }) => {
    const box = await createMailbox(node);
    const sent: string[] = [];
    for (let n = 0; n < 5; n++) sent.push(await box.send({ n }));
    const page = async (query: string): Promise<string[]> => (await box.list(query)).map(({ id }) => id);
    expect(await page("?limit=2")).toEqual(sent.slice(0, 2));
    expect(await page(`?limit=2&after=${sent[1]}`)).toEqual(sent.slice(2, 4));
    expect(await page(`?status=UNREAD&after=${sent[3]}`)).toEqual(sent.slice(4));
    // Acknowledged messages are in the order of their ids, which within one millisecond is not that of their acceptance.
    const ids = sent.toSorted();
    for (const id of ids) {
      await box.one(id, "claim");
      await box.one(id, "ack");
    }
    expect(await page("?status=ACKNOWLEDGED&limit=3")).toEqual(ids.slice(0, 3));
    expect(await page(`?status=ACKNOWLEDGED&after=${ids[2]}`)).toEqual(ids.slice(3));
    expect(await page(`?after=${ids[2]}`)).toEqual([]);
  });

  it("continues after a message that was canceled since, and omits none", async ({ node }) => {
    const box = await createMailbox(node);
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await box.send({ n }));
    ids.sort();
    const page = async (query: string): Promise<string[]> => (await box.list(query)).map(({ id }) => id);
    const { body } = await node.call("POST", `/api/v1/events/${ids[2]}/cancel`, { key: box.account.api_key });
    expect(body.status).toBe("CANCELED");
    // Messages of the minute before the cursor may be listed again.
    expect(await page(`?after=${ids[2]}`)).toEqual(expect.arrayContaining(ids.slice(3)));
    expect(await page(`?status=UNREAD&after=${ids[2]}`)).toEqual(expect.arrayContaining(ids.slice(3)));
    const other = await createMailbox(node, {}, box.account);
    const path = `/api/v1/mailboxes/${other.id}/messages?after=${ids[2]}`;
    expect((await node.call("GET", path, { key: box.account.api_key })).status).toBe(400);
  });

  it.for([
    ["?limit=0", "limit"],
    ["?limit=101", "limit"],
    ["?limit=x", "limit"],
    ["?status=READ", "status"],
    ["?after=zz", "after"],
    ["?after=%00", "after"],
    ["?after=ffffffffffffffffffffffffffffffff", "after"],
  ] as const)("%s is answered with 400 that names the field", async ([query, field], { node }) => {
    const box = await createMailbox(node);
    const path = `/api/v1/mailboxes/${box.id}/messages${query}`;
    const { status, body } = await node.call("GET", path, { key: box.account.api_key });
    expect(status).toBe(400);
    expect(body.error).toContain(field);
  });

  it("shows nothing of another organization, and no other kind of target", async ({ node }) => {
    const box = await createMailbox(node);
    const id = await box.send({ secret: true });
    const stranger = await signUp(node);
    const key = stranger.api_key;
    const webhook = await node.call("POST", "/api/v1/targets", {
      key: box.account.api_key,
      body: { kind: "webhook", name: "hook", url: "https://example.com/hook" },
    });
    const claim = await box.one(id, "claim");
    const token = claim.body.claim_token;
    for (const [method, path, body, credential] of [
      ["GET", `/api/v1/mailboxes/${box.id}/messages`, undefined, key],
      ["GET", `/api/v1/mailboxes/${box.id}/stats`, undefined, key],
      ["GET", `/api/v1/mailbox-messages/${id}`, undefined, key],
      ["POST", `/api/v1/mailbox-messages/${id}/claim`, undefined, key],
      ["POST", `/api/v1/mailbox-messages/${id}/ack`, undefined, key],
      ["POST", `/api/v1/mailbox-messages/${id}/ack`, { claim_token: token }, key],
      ["POST", `/api/v1/mailboxes/${box.id}/claim`, undefined, key],
      ["POST", `/api/v1/mailboxes/${box.id}/ack`, { messages: [{ id, claim_token: token }] }, key],
      ["POST", `/api/v1/mailboxes/${box.id}/redrive`, undefined, key],
      ["GET", `/api/v1/mailboxes/${webhook.body.id}/messages`, undefined, box.account.api_key],
      ["POST", `/api/v1/mailboxes/${webhook.body.id}/claim`, undefined, box.account.api_key],
      ["GET", `/api/v1/mailboxes/%00/messages`, undefined, key],
      ["GET", `/api/v1/mailbox-messages/nonsense`, undefined, key],
      ["POST", `/api/v1/mailbox-messages/nonsense/claim`, undefined, key],
      ["POST", `/api/v1/mailbox-messages/%00/ack`, undefined, key],
    ] as const) {
      const answer = await node.call(method, path, { key: credential, ...(body && { body }) });
      expect([path, answer.status, answer.body]).toEqual([path, 404, { error: "not found" }]);
    }
    expect((await box.one(id, "ack")).status).toBe(200);
  });

  it("refuses sessions for claims, accepts keys and sessions for lists, and needs a credential", async ({
    node,
  }) => {
    const box = await createMailbox(node);
    const id = await box.send({});
    const session = box.account.session_token;
    for (const path of [`/api/v1/mailboxes/${box.id}/messages`, `/api/v1/mailbox-messages/${id}`]) {
      expect((await node.call("GET", path, { session })).status).toBe(200);
      expect((await node.call("GET", path)).status).toBe(401);
    }
    for (const path of [`/api/v1/mailbox-messages/${id}/claim`, `/api/v1/mailboxes/${box.id}/claim`]) {
      expect((await node.call("POST", path, { session })).status).toBe(403);
      expect((await node.call("POST", path)).status).toBe(401);
      expect((await node.call("POST", path, { key: `ak_live_${"0".repeat(64)}` })).status).toBe(401);
    }
    expect((await box.read(id)).body.status).toBe("UNREAD");
  });
});

describe("claim and acknowledge", () => {
  it("changes UNREAD to CLAIMED and then to ACKNOWLEDGED", async ({ node }) => {
    const box = await createMailbox(node);
    const id = await box.send({ n: 1 });
    const before = Math.floor(Date.now() / 1000);
    const claimed = await box.one(id, "claim");
    const after = Math.ceil(Date.now() / 1000);
    expect(claimed.status).toBe(200);
    expect(claimed.body).toMatchObject({
      id,
      status: "CLAIMED",
      claim_count: 1,
      payload: { n: 1 },
      claim_token: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(claimed.body.claim_expires_at).toBeGreaterThanOrEqual(before + 300);
    expect(claimed.body.claim_expires_at).toBeLessThanOrEqual(after + 300);
    const { claim_token: _token, ...seen } = claimed.body;
    expect((await box.read(id)).body).toEqual({ ...seen, interventions: [] });
    expect((await box.list("?status=CLAIMED")).map((message) => message.id)).toEqual([id]);
    expect(await box.list("?status=UNREAD")).toEqual([]);

    const acknowledged = await box.one(id, "ack");
    expect(acknowledged).toMatchObject({ status: 200, body: { id, status: "ACKNOWLEDGED" } });
    const read = await box.read(id);
    expect(read.body).toMatchObject({
      status: "ACKNOWLEDGED",
      claimed_by: seen.claimed_by,
      claim_expires_at: null,
      payload: { n: 1 },
    });
    expect(read.body.acknowledged_at).toBeGreaterThanOrEqual(read.body.created_at);
    expect((await box.one(id, "claim")).status).toBe(409);
    expect((await box.list("?status=ACKNOWLEDGED")).map((message) => message.id)).toEqual([id]);
  });

  it("answers 409 to a competing claim, also of the same key, and 403 to another key's acknowledgement", async ({
    node,
  }) => {
    const box = await createMailbox(node);
    const id = await box.send({});
    const other = await box.newKey();
    expect((await box.one(id, "ack")).status).toBe(409);
    expect((await box.one(id, "claim")).status).toBe(200);
    expect((await box.one(id, "claim")).status).toBe(409);
    expect((await box.one(id, "claim", undefined, other)).status).toBe(409);
    expect((await box.one(id, "ack", undefined, other)).status).toBe(403);
    expect((await box.one(id, "ack")).status).toBe(200);
    expect((await box.one(id, "ack")).status).toBe(200);
    expect((await box.one(id, "ack", undefined, other)).status).toBe(409);
  });

  it("lets exactly one of many claims succeed, across nodes and keys", async ({ node, other }) => {
    const box = await createMailbox(node);
    const keys = [box.account.api_key, await box.newKey(), await box.newKey()];
    for (let round = 0; round < 5; round++) {
      const id = await box.send({ round });
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, n) =>
          (n % 2 ? node : other).call("POST", `/api/v1/mailbox-messages/${id}/claim`, { key: keys[n % 3]! }),
        ),
      );
      const codes = answers.map((answer) => answer.status);
      expect(codes.filter((code) => code === 200)).toHaveLength(1);
      expect(codes.filter((code) => code === 409)).toHaveLength(39);
    }
  });

  it("refuses a stale token, also from the same key, and accepts a fresh one repeatedly", async ({
    node,
    hasty,
  }) => {
    const box = await createMailbox(hasty);
    const id = await box.send({});
    const first = await box.one(id, "claim");
    // Claimed through the default node, so that the second claim lasts until the end of the test.
    const second = await until(
      () => node.call("POST", `/api/v1/mailbox-messages/${id}/claim`, { key: box.account.api_key }),
      (answer) => answer.status === 200,
    );
    expect(second.body.claim_count).toBe(2);
    expect(second.body.claim_token).not.toBe(first.body.claim_token);
    expect((await box.one(id, "ack", { claim_token: first.body.claim_token })).status).toBe(409);
    expect((await box.one(id, "ack", { claim_token: "nonsense" })).status).toBe(409);
    expect((await box.one(id, "ack", { claim_token: second.body.claim_token })).status).toBe(200);
    expect((await box.one(id, "ack", { claim_token: second.body.claim_token })).status).toBe(200);
    expect((await box.one(id, "ack", { claim_token: first.body.claim_token })).status).toBe(409);
  });

  it("reads a lapsed claim as UNREAD, refuses its holder and lets another consumer claim", async ({
    node,
    hasty,
  }) => {
    const box = await createMailbox(hasty);
    const other = await box.newKey();
    const id = await box.send({});
    const claim = await box.one(id, "claim");
    expect(claim.body.status).toBe("CLAIMED");
    const { body } = await until(
      () => box.read(id),
      (answer) => answer.body.status === "UNREAD",
    );
    expect(body).toMatchObject({ claimed_by: null, claim_expires_at: null, claim_count: 1 });
    expect((await box.list("?status=UNREAD")).map((message) => message.id)).toEqual([id]);
    expect(await box.list("?status=CLAIMED")).toEqual([]);
    expect((await box.one(id, "ack")).status).toBe(409);
    // Claimed through the default node, so that the claim lasts until the end of the test.
    const again = await node.call("POST", `/api/v1/mailbox-messages/${id}/claim`, { key: other });
    expect(again.status).toBe(200);
    expect((await box.one(id, "ack")).status).toBe(403);
    expect((await box.one(id, "ack", { claim_token: claim.body.claim_token })).status).toBe(409);
  });

  it("expires messages of every state, and deletes their payloads", async ({ forgetful }) => {
    const box = await createMailbox(forgetful);
    const [unread, claimed, acknowledged] = [
      await box.send({ n: 1 }),
      await box.send({ n: 2 }),
      await box.send({ n: 3 }),
    ];
    await box.one(acknowledged, "claim");
    await box.one(acknowledged, "ack");
    await until(
      () => box.list("?status=UNREAD"),
      (messages) => messages.length < 2,
    );
    await box.one(claimed, "claim");
    const ids = [unread, claimed, acknowledged];
    const expired = await until(
      () => box.list("?status=EXPIRED"),
      (messages) => messages.length === 3,
    );
    expect(expired.map((message) => message.id).sort()).toEqual(ids.sort());
    for (const id of ids) {
      const { status, body } = await box.read(id);
      expect([status, body.status, body.payload]).toEqual([200, "EXPIRED", null]);
      expect((await box.one(id, "claim")).status).toBe(409);
      expect((await box.one(id, "ack")).status).toBe(409);
    }
    expect(await box.list()).toEqual([]);
    expect((await box.post("claim", { max: 10 })).body.messages).toEqual([]);
  });
});
