import { describe, expect } from "vitest";
import { createMailbox, type TestMailbox } from "./support/mailbox.ts";
import { until } from "./support/until.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";
import { removeEvents } from "./support/storedEvents.ts";

const it = sharedNodeTest().extend("hasty", file, ({ newNode }) =>
  newNode({ POSTRIDER_MAILBOX_LEASE_SECONDS: "1" }),
);

interface Claim {
  id: string;
  claim_token: string;
}

async function claim(box: TestMailbox, max: number, options = {}): Promise<Claim[]> {
  const { body } = await box.post("claim", { max, ...options });
  return body.messages.map(({ id, claim_token }: Claim) => ({ id, claim_token }));
}

async function sendMany(box: TestMailbox, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push(await box.send({ n }));
  return ids;
}

describe("a batch claim", () => {
  it("returns no message under another request's token, even when an event is missing", async ({ node }) => {
    const box = await createMailbox(node);
    const ids = await sendMany(box, 4);
    await removeEvents(node.pool, [ids[2]!]);
    const claims = (await Promise.all([claim(box, 2), claim(box, 2)])).toSorted(
      (a, b) => b.length - a.length,
    );
    expect(claims.map((messages) => messages.map(({ id }) => id))).toEqual([ids.slice(0, 2), ids.slice(3)]);
    const { body } = await box.post("ack", { messages: claims.flat() });
    expect(body.results.map(({ status }: { status: number }) => status)).toEqual([200, 200, 200]);
  });

  it("returns the oldest messages first, with payloads, tokens, lease and the number left", async ({
    node,
  }) => {
    const box = await createMailbox(node);
    const ids = await sendMany(box, 5);
    const before = Math.floor(Date.now() / 1000);
    const { body } = await box.post("claim", { max: 3, lease_seconds: 60 });
    const after = Math.ceil(Date.now() / 1000);
    expect(body.messages.map((message: Claim) => message.id)).toEqual(ids.slice(0, 3));
    expect(body.remaining).toEqual({ ready: 2, claimed: 3 });
    for (const [n, message] of body.messages.entries()) {
      expect(message).toMatchObject({ status: "CLAIMED", payload: { n }, claim_count: 1 });
      expect(message.claim_expires_at).toBeGreaterThanOrEqual(before + 60);
      expect(message.claim_expires_at).toBeLessThanOrEqual(after + 60);
    }
    const rest = await box.post("claim", { max: 100 });
    expect(rest.body.messages.map((message: Claim) => message.id)).toEqual(ids.slice(3));
    expect(rest.body.remaining).toEqual({ ready: 0, claimed: 5 });
    expect((await box.post("claim")).body.messages).toEqual([]);
  });

  it("returns at most 16 MiB of payloads, and the rest to the next claim", async ({ node }) => {
    const box = await createMailbox(node);
    const big = "x".repeat(1_000_000);
    for (let n = 0; n < 20; n++) await box.send({ n, big });
    const [first, second] = [await box.post("claim", { max: 100 }), await box.post("claim", { max: 100 })];
    const numbers = [first, second].flatMap(({ body }) =>
      body.messages.map((message: { payload: { n: number } }) => message.payload.n),
    );
    expect(first.body.messages).toHaveLength(16);
    expect(numbers).toEqual(Array.from({ length: 20 }, (_, n) => n));
    for (let n = 0; n < 20; n++) await box.send({ n, big });
    const claims = await Promise.all(Array.from({ length: 10 }, () => box.post("claim", { max: 4 })));
    expect(claims.flatMap(({ body }) => body.messages)).toHaveLength(20);
  });

  it("gives every message to exactly one of many claims", async ({ node }) => {
    const box = await createMailbox(node);
    const ids = await sendMany(box, 60);
    const claims = await Promise.all(Array.from({ length: 30 }, (_, n) => claim(box, 1 + (n % 4))));
    const claimed = claims.flat().map(({ id }) => id);
    expect(new Set(claimed).size).toBe(claimed.length);
    expect(claimed.sort()).toEqual(ids.sort());
  });

  it.for([
    [{ max: 0 }, "max"],
    [{ max: 101 }, "max"],
    [{ max: 1.5 }, "max"],
    [{ wait_seconds: 31 }, "wait_seconds"],
    [{ wait_seconds: -1 }, "wait_seconds"],
    [{ lease_seconds: 4 }, "lease_seconds"],
    [{ lease_seconds: 43_201 }, "lease_seconds"],
    [{ max: "1" }, "max"],
  ] as const)("%j is answered with 400 that names the field", async ([body, field], { node }) => {
    const box = await createMailbox(node);
    const answer = await box.post("claim", body);
    expect([answer.status, answer.body.error]).toEqual([400, expect.stringContaining(field)]);
  });
});

describe("batch acknowledge, extend, release and reject", () => {
  it("give each message its own result", async ({ node }) => {
    const box = await createMailbox(node);
    const elsewhere = await createMailbox(node, {}, box.account);
    await sendMany(box, 2);
    await elsewhere.send({});
    const [one, two] = await claim(box, 2);
    const [foreign] = await claim(elsewhere, 1);
    const { status, body } = await box.post("ack", {
      messages: [
        one,
        { id: two!.id, claim_token: one!.claim_token.replaceAll(/./g, "0") },
        { id: "f".repeat(32), claim_token: one!.claim_token },
        { id: "nonsense", claim_token: "nonsense" },
        foreign,
        one,
      ],
    });
    expect(status).toBe(200);
    const stale = expect.stringContaining("not active");
    expect(body.results).toEqual([
      { id: one!.id, ok: true, status: 200 },
      { id: two!.id, ok: false, status: 409, error: stale },
      { id: "f".repeat(32), ok: false, status: 404, error: "not found" },
      { id: "nonsense", ok: false, status: 404, error: "not found" },
      { id: foreign!.id, ok: false, status: 404, error: "not found" },
      { id: one!.id, ok: true, status: 200 },
    ]);
    expect((await box.read(one!.id)).body.status).toBe("ACKNOWLEDGED");
    expect((await box.read(two!.id)).body.status).toBe("CLAIMED");
  });

  it("are refused to another key, even with the right token", async ({ node }) => {
    const box = await createMailbox(node);
    await sendMany(box, 1);
    const messages = await claim(box, 1);
    const key = await box.newKey();
    for (const verb of ["ack", "extend", "release", "reject"]) {
      const { body } = await box.post(verb, { messages }, { key });
      expect([verb, body.results[0].status]).toEqual([verb, 403]);
    }
    expect((await box.read(messages[0]!.id)).body.status).toBe("CLAIMED");
  });

  it("are refused with 409 when the token is stale, even from the same key", async ({ hasty }) => {
    const box = await createMailbox(hasty);
    const id = await box.send({});
    const stale = await claim(box, 1);
    const fresh = await until(
      () => claim(box, 1, { lease_seconds: 60 }),
      (claims) => claims.length === 1,
    );
    for (const verb of ["ack", "extend", "release", "reject"]) {
      const { body } = await box.post(verb, { messages: stale });
      expect([verb, body.results[0].status]).toEqual([verb, 409]);
    }
    expect((await box.read(id)).body).toMatchObject({ status: "CLAIMED", claim_count: 2 });
    expect((await box.post("ack", { messages: fresh })).body.results[0].status).toBe(200);
  });

  it("keep a message past its first lease by extending it", async ({ node }) => {
    const box = await createMailbox(node);
    const id = await box.send({});
    const messages = await claim(box, 1, { lease_seconds: 5 });
    const before = Math.floor(Date.now() / 1000);
    const { body } = await box.post("extend", { messages, lease_seconds: 60 });
    expect(body.results[0]).toMatchObject({ id, ok: true, status: 200 });
    expect(body.results[0].claim_expires_at).toBeGreaterThanOrEqual(before + 60);
    // Another message with the same first lease, which has lapsed.
    const other = await createMailbox(node);
    const lapsing = await other.send({});
    await claim(other, 1, { lease_seconds: 5 });
    await until(
      async () => (await other.read(lapsing)).body,
      ({ status }) => status === "UNREAD",
    );
    expect((await box.read(id)).body).toMatchObject({
      status: "CLAIMED",
      claim_expires_at: body.results[0].claim_expires_at,
    });
    expect((await box.post("ack", { messages })).body.results[0].ok).toBe(true);
  });

  it("release a message at once, or after a delay in which only a claim by id gets it", async ({ node }) => {
    const box = await createMailbox(node);
    const id = await box.send({});
    await box.post("release", { messages: await claim(box, 1) });
    expect((await box.read(id)).body).toMatchObject({ status: "UNREAD", claim_count: 1 });
    await box.post("release", { messages: await claim(box, 1), delay_seconds: 60 });
    expect((await box.read(id)).body).toMatchObject({ status: "UNREAD", claim_count: 2 });
    expect(await claim(box, 1)).toEqual([]);
    expect(await box.stats()).toMatchObject({ ready: 0, delayed: 1 });
    expect((await box.list("?status=UNREAD")).map((message) => message.id)).toEqual([id]);
    expect((await box.one(id, "claim")).status).toBe(200);
  });

  it("reject a message with a reason, which makes it dead, and repeat with the same result", async ({
    node,
  }) => {
    const box = await createMailbox(node);
    const id = await box.send({ n: 1 });
    const messages = await claim(box, 1);
    for (let times = 0; times < 2; times++) {
      const { body } = await box.post("reject", { messages, reason: "cannot parse" });
      expect(body.results).toEqual([{ id, ok: true, status: 200 }]);
    }
    expect((await box.read(id)).body).toMatchObject({
      status: "DEAD",
      dead_reason: "cannot parse",
      payload: { n: 1 },
      claimed_by: null,
    });
    expect((await box.list("?status=DEAD")).map((message) => message.id)).toEqual([id]);
    expect(await box.list()).toEqual([]);
    expect((await box.post("ack", { messages })).body.results[0].status).toBe(409);
    expect((await box.one(id, "claim")).status).toBe(409);
    expect(await claim(box, 10)).toEqual([]);
  });

  it("keep the reason given for each message, or else the batch's reason", async ({ node }) => {
    const box = await createMailbox(node);
    const [first, second] = await sendMany(box, 2);
    const [one, other] = await claim(box, 2);
    const messages = [{ ...one, reason: "no such order" }, other];
    await box.post("reject", { messages, reason: "cannot parse" });
    const reasons = [await box.read(first!), await box.read(second!)].map(({ body }) => body.dead_reason);
    expect(reasons).toEqual(["no such order", "cannot parse"]);
  });

  it.for([
    ["ack", {}, "messages"],
    ["ack", { messages: [] }, "messages"],
    ["ack", { messages: [{ id: "a" }] }, "claim_token"],
    ["ack", { messages: Array.from({ length: 101 }, () => ({ id: "a", claim_token: "b" })) }, "messages"],
    ["extend", { messages: [{ id: "a", claim_token: "b" }], lease_seconds: 4 }, "lease_seconds"],
    ["release", { messages: [{ id: "a", claim_token: "b" }], delay_seconds: 43_201 }, "delay_seconds"],
    ["reject", { messages: [{ id: "a", claim_token: "b" }], reason: "" }, "reason"],
    ["reject", { messages: [{ id: "a", claim_token: "b", reason: 7 }] }, "messages.0.reason"],
    ["release", { messages: [{ id: "a", claim_token: "b" }], reason: "x".repeat(1_001) }, "reason"],
  ] as const)("%s refuses %j with 400", async ([verb, body, field], { node }) => {
    const box = await createMailbox(node);
    const answer = await box.post(verb, body);
    expect([answer.status, answer.body.error]).toEqual([400, expect.stringContaining(field)]);
  });
});

describe("a message that is claimed too often", () => {
  it("is dead after its last claim lapses, without a sweep", async ({ hasty }) => {
    const box = await createMailbox(hasty, { max_claims: 2 });
    const id = await box.send({});
    await claim(box, 1);
    await until(
      () => box.read(id),
      ({ body }) => body.status === "UNREAD",
    );
    await claim(box, 1);
    const dead = await until(
      () => box.read(id),
      ({ body }) => body.status === "DEAD",
    );
    expect(dead.body).toMatchObject({
      claim_count: 2,
      dead_reason: "claimed 2 times and never acknowledged",
    });
    expect((await box.list("?status=DEAD")).map((message) => message.id)).toEqual([id]);
    expect(await box.list("?status=UNREAD")).toEqual([]);
    expect(await box.stats()).toMatchObject({ ready: 0, claimed: 0, dead: 1 });
    expect((await box.one(id, "claim")).status).toBe(409);
    expect(await claim(box, 1)).toEqual([]);
    expect((await box.read(id)).body).toEqual(dead.body);
    expect(await box.stats()).toMatchObject({ ready: 0, claimed: 0, dead: 1 });
  });

  it("is dead when its last claim is released, and claimable again after a redrive", async ({ node }) => {
    const box = await createMailbox(node, { max_claims: 1 });
    const ids = await sendMany(box, 3);
    await box.post("release", { messages: await claim(box, 3) });
    expect((await box.list("?status=DEAD")).map((message) => message.id)).toEqual(ids);
    expect((await box.post("redrive", { messages: [ids[1], "nonsense"] })).body).toEqual({ redriven: 1 });
    expect((await box.read(ids[1]!)).body).toMatchObject({
      status: "UNREAD",
      claim_count: 0,
      dead_reason: null,
    });
    expect((await box.post("redrive", { limit: 1 })).body).toEqual({ redriven: 1 });
    expect((await box.post("redrive")).body).toEqual({ redriven: 1 });
    expect((await box.post("redrive")).body).toEqual({ redriven: 0 });
    expect((await claim(box, 3)).map((message) => message.id)).toEqual(ids);
  });

  it("keeps the reason that its last consumer gave when it released the message", async ({ node }) => {
    const box = await createMailbox(node, { max_claims: 2 });
    const ids = await sendMany(box, 2);
    await box.post("release", { messages: await claim(box, 2), reason: "the first time" });
    expect((await box.read(ids[0]!)).body).toMatchObject({ status: "UNREAD", dead_reason: null });
    const [one, other] = await claim(box, 2);
    await box.post("release", { messages: [one], reason: "the shop is closed" });
    await box.post("release", { messages: [other] });
    const said = "claimed 2 times and never acknowledged";
    const reasons = await Promise.all(ids.map(async (id) => (await box.read(id)).body.dead_reason));
    expect(new Set(reasons)).toEqual(new Set([said, `${said}: the shop is closed`]));
  });

  it("has no limit unless the mailbox sets one, and the limit can be changed", async ({ node }) => {
    const box = await createMailbox(node);
    const id = await box.send({});
    for (let times = 1; times <= 5; times++) {
      await box.post("release", { messages: await claim(box, 1) });
      expect((await box.read(id)).body).toMatchObject({ status: "UNREAD", claim_count: times });
    }
    const { api_key: key } = box.account;
    const path = `/api/v1/targets/${box.id}`;
    expect((await node.call("GET", path, { key })).body.max_claims).toBeNull();
    const patched = await node.call("PATCH", path, { key, body: { max_claims: 3 } });
    expect(patched.body.max_claims).toBe(3);
    await box.post("release", { messages: await claim(box, 1) });
    expect((await box.read(id)).body.status).toBe("DEAD");
    const cleared = await node.call("PATCH", path, { key, body: { max_claims: null } });
    expect([cleared.status, cleared.body.max_claims]).toEqual([200, null]);
    for (const bad of [0, 1001, "3"]) {
      expect((await node.call("PATCH", path, { key, body: { max_claims: bad } })).status).toBe(400);
    }
  });
});

describe("the mailbox statistics", () => {
  it("count states, age and rates", async ({ node }) => {
    const box = await createMailbox(node);
    expect(await box.stats()).toEqual({
      ready: 0,
      claimed: 0,
      delayed: 0,
      blocked: 0,
      dead: 0,
      counts_are_exact: true,
      oldest_age_seconds: null,
      accepted_per_minute: 0,
      acknowledged_per_minute: 0,
    });
    const beforeMs = Date.now();
    await sendMany(box, 6);
    const [one, two, three] = await claim(box, 4);
    await box.post("ack", { messages: [one] });
    await box.post("reject", { messages: [two] });
    await box.post("release", { messages: [three], delay_seconds: 60 });
    const stats = await box.stats();
    expect(stats).toMatchObject({ ready: 2, claimed: 1, delayed: 1, blocked: 0, dead: 1 });
    expect(stats["oldest_age_seconds"]).toBeGreaterThanOrEqual(0);
    expect(stats["oldest_age_seconds"]).toBeLessThanOrEqual((Date.now() - beforeMs) / 1000 + 1);
    expect(stats["accepted_per_minute"]).toBeGreaterThan(0.9);
    expect(stats["acknowledged_per_minute"]).toBeGreaterThan(0.1);
  });
});
