import { describe, expect } from "vitest";
import { openRawConnection } from "./support/rawConnection.ts";
import { refusal, signUp } from "./support/testNode.ts";
import { file, loopbackTargets, nodeTest } from "./support/fixtures.ts";
import { createQueries } from "../src/postgres/tables.ts";
import { endRotations } from "../src/targets/webhook/rotateSecret.ts";
import { entries } from "./support/auditLog.ts";

/** An organization's customers, and the targets that belong to them. */
const it = nodeTest(loopbackTargets)
  .extend(
    "put",
    file,
    ({ call }) =>
      async (uid: string, body: object = {}) =>
        call("PUT", `/api/v1/customers/${uid}`, body),
  )
  .extend("newMailbox", file, ({ call }) => async (fields: object): Promise<string> => {
    const { status, body } = await call("POST", "/api/v1/targets", { kind: "mailbox", name: "m", ...fields });
    expect(status, JSON.stringify(body)).toBe(200);
    return body.id;
  });

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

describe("a customer", () => {
  it("is created and changed by the same call, and read by its uid", async ({ put, call }) => {
    const made = await put("acme:1", { name: "Acme", metadata: { plan: "gold", seats: [1, 2] } });
    expect(made).toMatchObject({
      status: 200,
      body: { uid: "acme:1", name: "Acme", metadata: { plan: "gold", seats: [1, 2] } },
    });
    const again = await put("acme:1", { name: "Acme" });
    expect(again.body).toMatchObject({ id: made.body.id, created_at: made.body.created_at, metadata: {} });
    expect((await call("GET", "/api/v1/customers/acme:1")).body).toEqual(again.body);
  });

  it("writes no audit entry when it is put again unchanged", async ({ node, account, put }) => {
    await put("quiet", { name: "Q", metadata: { a: { b: 1 } } });
    await put("quiet", { name: "Q", metadata: { a: { b: 1 } } });
    const found = await entries(node, account, "?action=customer.updated");
    expect(found.filter(({ object }) => object.name === "Q")).toEqual([]);
  });

  it.for([
    ["uid with a slash", "a%2Fb", {}, /uid must be 1 to 128/],
    ["uid of 129 characters", "u".repeat(129), {}, /uid must be 1 to 128/],
    ["a name with a control character", "bad", { name: "a\u0007b" }, /name/],
    ["metadata that is no object", "bad", { metadata: [1] }, /metadata/],
    ["metadata over 4 KiB", "bad", { metadata: { a: "x".repeat(4_096) } }, /metadata has 4104 bytes/],
    ["metadata with U+0000", "bad", { metadata: { a: "\u0000" } }, /NUL character/],
    ["metadata with half a pair", "bad", { metadata: { "\ud800": 1 } }, /lone surrogate/],
  ] as const)("with %s is refused", async ([, uid, body, message], { put, call }) => {
    const answer = await put(uid, body);
    expect(answer).toMatchObject({ status: 400, body: { error: expect.stringMatching(message) } });
    expect((await call("GET", `/api/v1/customers/${uid}`)).status).toBe(404);
  });

  it("has no uid that a client would resolve as part of the path", async ({ url, account, call }) => {
    for (const uid of [".", "..", "%2e%2E"]) {
      const connection = await openRawConnection(Number(new URL(url).port));
      await connection.write(
        `PUT /api/v1/customers/${uid} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${account.api_key}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
      );
      const { status, body } = await connection.answer();
      expect([status, body]).toEqual([400, expect.stringMatching(/but not \. or \.\./)]);
      connection.destroy();
    }
    expect((await call("GET", "/api/v1/customers?prefix=.")).body.customers).toEqual([]);
  });

  it.for([
    ['{"a": [1, {"b": 1e400}]}', "metadata.a.1.b is a number beyond 1.79e308, which cannot be stored"],
    [
      '{"a": 1, "b": 12345678901234567890}',
      "metadata.b is a whole number beyond 9007199254740991, which would be rounded",
    ],
    [
      '{"a": [-9007199254740993]}',
      "metadata.a.0 is a whole number beyond 9007199254740991, which would be rounded",
    ],
  ] as const)(
    "is refused when a number in its metadata would be stored as another: %s",
    async ([metadata, fault], { url, account, call }) => {
      const response = await fetch(`${url}/api/v1/customers/endless`, {
        method: "PUT",
        headers: { authorization: `Bearer ${account.api_key}`, "content-type": "application/json" },
        body: `{"metadata": ${metadata}}`,
      });
      const error = `${fault}: give it as a string`;
      expect([response.status, await response.json()]).toEqual([400, { error }]);
      expect((await call("GET", "/api/v1/customers/endless")).status).toBe(404);
    },
  );

  it("may have large numbers in its metadata that are stored exactly", async ({ put }) => {
    const metadata = { whole: 9007199254740992, power: 2 ** 70, large: 1e300, small: -0.1 };
    const { body } = await put("large", { metadata });
    expect(body.metadata).toEqual(metadata);
    expect((await put("large", { metadata: body.metadata })).status).toBe(200);
  });

  it("may have metadata that only looks like such an escape", async ({ put }) => {
    const metadata = { text: "\\u0000 and \\ud800" };
    expect((await put("escaped", { metadata })).body.metadata).toEqual(metadata);
  });

  it("is created once by twenty simultaneous requests", async ({ put }) => {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => put("raced", { name: `r${n}` })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  });

  it("of another organization is not found", async ({ node, put }) => {
    await put("own");
    const { api_key: key } = await signUp(node);
    const other = (method: "GET" | "DELETE") => node.call(method, "/api/v1/customers/own", { key });
    expect((await other("GET")).status).toBe(404);
    expect((await other("DELETE")).status).toBe(404);
    expect((await node.call("PUT", "/api/v1/customers/own", { key, body: { name: "theirs" } })).status).toBe(
      200,
    );
    expect((await put("own")).body.name).toBe("");
  });
});

it("lists are ordered by uid, paged, and filtered by prefix", async ({ node }) => {
  const { api_key: key } = await signUp(node);
  const uids = ["b", "a.2", "a.10", "a", "B", "a-"];
  for (const uid of uids) await node.call("PUT", `/api/v1/customers/${uid}`, { key, body: {} });
  const list = async (query: string): Promise<string[]> =>
    (await node.call("GET", `/api/v1/customers?${query}`, { key })).body.customers.map(
      ({ uid }: { uid: string }) => uid,
    );
  expect(await list("")).toEqual(["B", "a", "a-", "a.10", "a.2", "b"]);
  expect(await list("prefix=a.")).toEqual(["a.10", "a.2"]);
  expect(await list("prefix=a&after=a&limit=2")).toEqual(["a-", "a.10"]);
  expect(await list("prefix=c")).toEqual([]);
  expect((await node.call("GET", "/api/v1/customers?prefix=a%20b", { key })).status).toBe(400);
});

describe("a target of a customer", () => {
  it("names its customer, and is found by customer and by uid", async ({ node }) => {
    const { api_key: key } = await signUp(node);
    await node.call("PUT", "/api/v1/customers/c1", { key, body: {} });
    const create = async (fields: object): Promise<string> =>
      (await node.call("POST", "/api/v1/targets", { key, body: { kind: "mailbox", name: "m", ...fields } }))
        .body.id;
    const own = await create({ customer_uid: "c1", uid: "inbox", metadata: { tier: 1 } });
    const second = await create({ customer_uid: "c1" });
    const free = await create({});
    const { body } = await node.call("GET", `/api/v1/targets/${own}`, { key });
    expect(body).toMatchObject({ customer_uid: "c1", uid: "inbox", metadata: { tier: 1 } });
    const list = async (query: string): Promise<string[]> =>
      (await node.call("GET", `/api/v1/targets${query}`, { key })).body.targets.map(
        ({ id }: { id: string }) => id,
      );
    expect(await list("")).toEqual([own, second, free]);
    expect(await list("?customer_uid=c1")).toEqual([own, second]);
    expect(await list("?customer_uid=c1&limit=1")).toEqual([own]);
    expect(await list(`?customer_uid=c1&limit=1&after=${own}`)).toEqual([second]);
    expect(await list("?customer_uid=")).toEqual([free]);
    expect(await list("?uid=inbox")).toEqual([own]);
    expect(await list("?uid=nobody")).toEqual([]);
    expect(await list("?kind=webhook&customer_uid=c1")).toEqual([]);
    expect(await list("?kind=mailbox&limit=2")).toEqual([own, second]);
  });

  it("needs an existing customer, at creation and at a change", async ({ newMailbox, call }) => {
    const body = { kind: "mailbox", name: "m", customer_uid: "nobody" };
    const refusal = {
      status: 400,
      body: { error: expect.stringMatching(/^customer_uid: no customer/) },
    };
    expect(await call("POST", "/api/v1/targets", body)).toMatchObject(refusal);
    const id = await newMailbox({});
    expect(await call("PATCH", `/api/v1/targets/${id}`, { customer_uid: "nobody" })).toMatchObject(refusal);
  });

  it("can change and remove its customer, uid and metadata", async ({ put, newMailbox, call }) => {
    await put("before");
    await put("after");
    const id = await newMailbox({ customer_uid: "before", uid: "moving", metadata: { a: 1 } });
    const changed = await call("PATCH", `/api/v1/targets/${id}`, { customer_uid: "after", uid: "moved" });
    expect(changed.body).toMatchObject({ customer_uid: "after", uid: "moved", metadata: { a: 1 } });
    const none = { customer_uid: null, uid: null, metadata: null };
    const { body } = await call("PATCH", `/api/v1/targets/${id}`, none);
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(["customer_uid"]));
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(["uid"]));
  });

  it("has a unique uid, also when many requests use it simultaneously", async ({ call, newMailbox }) => {
    const create = () => call("POST", "/api/v1/targets", { kind: "mailbox", name: "m", uid: "only" });
    const answers = await Promise.all(Array.from({ length: 8 }, create));
    const made = answers.filter(({ status }) => status === 200);
    expect(made).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(7);
    const id = await newMailbox({});
    const taken = await call("PATCH", `/api/v1/targets/${id}`, { uid: "only" });
    expect(taken).toMatchObject(refusal(409, "another target already has this uid"));
    expect(taken.headers["x-error-code"]).toBe("uid_taken");
    const own = made[0]!.body.id;
    expect((await call("PATCH", `/api/v1/targets/${own}`, { uid: "only" })).status).toBe(200);
  });

  it("is deleted with its customer, and its waiting items are canceled", async ({
    put,
    call,
    newMailbox,
    receiver,
  }) => {
    await put("leaving");
    const url = `${receiver.url}/leaving`;
    const hook = await call("POST", "/api/v1/targets", {
      kind: "webhook",
      name: "w",
      url,
      customer_uid: "leaving",
    });
    await call("PATCH", `/api/v1/targets/${hook.body.id}`, { enabled: false });
    const item = await call("POST", `/t/${hook.body.id}`, {});
    const box = await newMailbox({ customer_uid: "leaving" });
    const other = await newMailbox({});
    const deleted = await call("DELETE", "/api/v1/customers/leaving");
    expect(deleted.body).toEqual({ deleted: true, deleted_targets: 2 });
    for (const id of [hook.body.id, box])
      expect((await call("GET", `/api/v1/targets/${id}`)).status).toBe(404);
    expect((await call("GET", `/api/v1/targets/${other}`)).status).toBe(200);
    expect((await call("GET", `/api/v1/events/${item.body.id}`)).body.event.status).toBe("CANCELED");
    expect((await call("DELETE", "/api/v1/customers/leaving")).status).toBe(404);
  });

  it("is not left behind by a customer that is deleted while targets are created for it", async ({
    put,
    call,
  }) => {
    await put("busy");
    const create = () =>
      call("POST", "/api/v1/targets", { kind: "mailbox", name: "m", customer_uid: "busy" });
    const [deleted, ...created] = await Promise.all([
      call("DELETE", "/api/v1/customers/busy"),
      ...Array.from({ length: 10 }, create),
    ]);
    expect(deleted.status).toBe(200);
    for (const { status } of created) expect([200, 400]).toContain(status);
    expect((await call("GET", "/api/v1/targets?customer_uid=busy")).body.targets).toEqual([]);
  });
});

describe("an imported signing secret", () => {
  it("is accepted at creation", async ({ call, receiver }) => {
    const body = { kind: "webhook", name: "w", url: `${receiver.url}/known`, secret };
    expect((await call("POST", "/api/v1/targets", body)).body.secret).toBe(secret);
  });

  it.for([
    ["without its prefix", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", /must begin with whsec_/],
    ["too short", "whsec_AAAA", /24 to 64 bytes/],
    ["no base64", "whsec_*", /base64/],
  ] as const)(
    "is refused %s, and not repeated in the message",
    async ([, given, message], { call, receiver }) => {
      const body = { kind: "webhook", name: "w", url: `${receiver.url}/known`, secret: given };
      const answer = await call("POST", "/api/v1/targets", body);
      expect(answer).toMatchObject({ status: 400, body: { error: expect.stringMatching(message) } });
      expect(answer.body.error).not.toContain(given.slice(6) + " ");
    },
  );

  it("is accepted for webhooks only", async ({ call }) => {
    const answer = await call("POST", "/api/v1/targets", { kind: "mailbox", name: "m", secret });
    expect(answer).toMatchObject(refusal(400, "secret does not apply to a mailbox target"));
  });
});

describe("a rotation", () => {
  it("may import a secret and set the end of the previous one", async ({ call, account, node, receiver }) => {
    const body = { kind: "webhook", name: "w", url: `${receiver.url}/rotated` };
    const { id } = (await call("POST", "/api/v1/targets", body)).body;
    const rotate = (rotation: object) =>
      call("POST", `/api/v1/targets/${id}/signing-secret/rotate`, rotation);
    const rotated = await rotate({ secret, previous_secret_ends_in_seconds: 3_600 });
    expect(rotated).toMatchObject({ status: 200, body: { secret, has_previous_signing_secret: true } });
    const { previous_signing_secret_until: until, updated_at: at } = rotated.body;
    expect(until - at).toBe(3_600);

    expect(await endRotations(createQueries(node.pool), (until - 1) * 1_000)).toBe(0);
    expect(await endRotations(createQueries(node.pool), until * 1_000)).toBe(1);
    const { body: after } = await call("GET", `/api/v1/targets/${id}`);
    expect(after).toMatchObject({ has_previous_signing_secret: false });
    expect(after).not.toHaveProperty("previous_signing_secret_until");
    const [entry] = await entries(node, account, "?action=target.previous_secret_deleted");
    expect(entry).toMatchObject({ actor: { kind: "service" }, object: { id } });
  });

  it("without an end lasts until its owner deletes the previous secret", async ({ call, node, receiver }) => {
    const body = { kind: "webhook", name: "w", url: `${receiver.url}/rotated` };
    const { id } = (await call("POST", "/api/v1/targets", body)).body;
    const path = `/api/v1/targets/${id}/signing-secret/rotate`;
    await call("POST", path, { previous_secret_ends_in_seconds: 0 });
    // A later rotation without an end replaces the end that an earlier one set.
    await call("POST", path);
    await endRotations(createQueries(node.pool), Date.now() + 90 * 86_400_000);
    expect((await call("GET", `/api/v1/targets/${id}`)).body.has_previous_signing_secret).toBe(true);
  });

  it.for([-1, 2_592_001, 1.5, "60"])(
    "that ends after %s seconds is refused",
    async (seconds, { call, receiver }) => {
      const body = { kind: "webhook", name: "w", url: `${receiver.url}/rotated` };
      const { id } = (await call("POST", "/api/v1/targets", body)).body;
      const rotation = { previous_secret_ends_in_seconds: seconds };
      const answer = await call("POST", `/api/v1/targets/${id}/signing-secret/rotate`, rotation);
      expect(answer).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining("previous_secret_ends_in_seconds") },
      });
    },
  );
});
