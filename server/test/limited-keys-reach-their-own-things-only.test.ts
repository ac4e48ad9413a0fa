import { describe, expect, onTestFinished } from "vitest";
import { entries } from "./support/auditLog.ts";
import { citusUrl } from "./support/citus.ts";
import { file, loopbackTargets, nodeTest } from "./support/fixtures.ts";
import { countLockWaits, holdRows } from "./support/heldLocks.ts";
import { makeOlder } from "./support/passedTime.ts";
import { type Answer, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";

/** Keys that are limited at creation, each with things of its own organization that are out of its reach. */
const it = nodeTest({ ...loopbackTargets, POSTRIDER_MAX_KEYS: "50", POSTRIDER_ROLES: "api" })
  .extend(
    "newKey",
    file,
    ({ node, account }) =>
      async (body: object): Promise<Answer> =>
        node.call("POST", "/api/v1/keys", {
          session: account.session_token,
          body: { name: "limited", ...body },
        }),
  )
  .extend("keyOf", file, ({ newKey }) => async (body: object) => {
    const { status, body: made } = await newKey(body);
    expect(status, JSON.stringify(made)).toBe(200);
    const key = made.key as string;
    return { id: made.id as string, key };
  })
  .extend("as", file, ({ node }) => (key: string) => {
    return (method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: object): Promise<Answer> =>
      node.call(method, path, { key, ...(body && { body }) });
  })
  /** Two customers, each with a webhook, a mailbox and an item in each. */
  .extend("shops", file, async ({ call }) => {
    const make = async (uid: string) => {
      await call("PUT", `/api/v1/customers/${uid}`, { name: uid });
      const fields = { name: uid, customer_uid: uid };
      const target = { kind: "webhook", url: "http://127.0.0.1:9/", ...fields };
      const webhook: string = (await call("POST", "/api/v1/targets", target)).body.id;
      const mailbox: string = (await call("POST", "/api/v1/targets", { kind: "mailbox", ...fields })).body.id;
      const event: string = (await call("POST", `/t/${webhook}`, { of: uid })).body.id;
      const message: string = (await call("POST", `/t/${mailbox}`, { of: uid })).body.id;
      return { webhook, mailbox, event, message };
    };
    return { own: await make("own"), other: await make("other") };
  });

const refused = { status: 403, headers: { "x-error-code": "scope_refused" } };
const unknown = { status: 404, body: { error: "not found" } };

describe("a key", () => {
  it("without limits shows no scope", async ({ newKey, call }) => {
    const { body } = await newKey({});
    expect(Object.keys(body)).toEqual(["id", "name", "key"]);
    const listed = (await call("GET", "/api/v1/keys")).body.keys.find(
      ({ id }: { id: string }) => id === body.id,
    );
    expect(Object.keys(listed)).toEqual(["id", "name", "prefix", "created_at", "last_used_at"]);
  });

  it("with limits shows them in lists and in the audit log", async ({
    node,
    account,
    newKey,
    call,
    shops,
  }) => {
    const fields = { scope: "consume", mailbox_ids: [shops.own.mailbox] };
    const { body } = await newKey({ ...fields, name: "worker" });
    expect(body).toMatchObject(fields);
    const { keys } = (await call("GET", "/api/v1/keys")).body;
    expect(keys.find(({ id }: { id: string }) => id === body.id)).toMatchObject(fields);
    const [entry] = await entries(node, account, `?object_id=${body.id}`);
    expect(entry).toMatchObject({ action: "key.created", after: { name: "worker", ...fields } });
  });

  it.for([
    [{ scope: "admin" }, /scope must be one of|scope/],
    [{ scope: "customer" }, /customer_uid is required/],
    [{ scope: "customer", customer_uid: "nobody" }, /customer_uid: no customer/],
    [{ scope: "consume" }, /mailbox_ids is required/],
    [{ scope: "consume", mailbox_ids: [] }, /mailbox_ids/],
    [{ scope: "consume", mailbox_ids: ["0".repeat(32)] }, /is not a mailbox/],
    [{ scope: "send", customer_uid: "own" }, /customer_uid is only allowed with/],
    [{ mailbox_ids: ["0".repeat(32)] }, /mailbox_ids is only allowed with/],
  ] as const)("limited by %j is refused", async ([body, message], { newKey }) => {
    expect(await newKey(body)).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(message) },
    });
  });

  it("cannot be limited to another organization's things", async ({ node, newKey }) => {
    const { api_key: key } = await signUp(node);
    await node.call("PUT", "/api/v1/customers/theirs", { key, body: {} });
    const target = { kind: "mailbox", name: "theirs" };
    const { body } = await node.call("POST", "/api/v1/targets", { key, body: target });
    expect((await newKey({ scope: "customer", customer_uid: "theirs" })).status).toBe(400);
    expect((await newKey({ scope: "consume", mailbox_ids: [body.id] })).status).toBe(400);
  });
});

it("a key limited to sending sends, and reads nothing", async ({ keyOf, as, shops }) => {
  const { key } = await keyOf({ scope: "send" });
  const call = as(key);
  for (const path of [`/t/${shops.own.webhook}`, `/e/${shops.other.webhook}`, "/p/own", "/p"]) {
    expect((await call("POST", path, { n: 1 })).status, path).toBe(202);
  }
  expect(await call("POST", `/t/${"0".repeat(32)}`, { n: 1 })).toMatchObject(unknown);
  expect(await call("GET", "/api/v1/events")).toMatchObject(refused);
  expect(await call("POST", `/api/v1/mailboxes/${shops.own.mailbox}/claim`, {})).toMatchObject(refused);
});

it("a key limited to reading reads, and sends nothing", async ({ keyOf, as, shops }) => {
  const call = as((await keyOf({ scope: "read" })).key);
  expect((await call("GET", `/api/v1/events/${shops.other.event}`)).status).toBe(200);
  expect(await call("POST", `/t/${shops.own.webhook}`, {})).toMatchObject(refused);
  expect(await call("DELETE", `/api/v1/targets/${shops.own.webhook}`)).toMatchObject(refused);
});

it("a key limited to a mailbox consumes only that mailbox", async ({ keyOf, as, shops: { own, other } }) => {
  const call = as((await keyOf({ scope: "consume", mailbox_ids: [own.mailbox] })).key);
  const claim = await call("POST", `/api/v1/mailboxes/${own.mailbox}/claim`, { max: 10 });
  expect(claim.status).toBe(200);
  const [{ id, claim_token }] = claim.body.messages;
  const messages = [{ id, claim_token }];
  expect(await call("POST", `/api/v1/mailboxes/${own.mailbox}/extend`, { messages })).toMatchObject({
    body: { results: [{ ok: true }] },
  });
  expect(await call("POST", `/api/v1/mailboxes/${own.mailbox}/release`, { messages })).toMatchObject({
    body: { results: [{ ok: true }] },
  });
  expect((await call("POST", `/api/v1/mailbox-messages/${own.message}/claim`)).status).toBe(200);
  expect((await call("POST", `/api/v1/mailbox-messages/${own.message}/ack`)).status).toBe(200);
  expect((await call("GET", `/api/v1/mailbox-messages/${own.message}`)).status).toBe(200);
  expect((await call("GET", `/api/v1/mailboxes/${own.mailbox}/messages`)).status).toBe(200);

  expect(await call("POST", `/api/v1/mailboxes/${other.mailbox}/claim`, {})).toMatchObject(unknown);
  expect(await call("POST", `/api/v1/mailbox-messages/${other.message}/claim`)).toMatchObject(unknown);
  expect(await call("GET", `/api/v1/mailbox-messages/${other.message}`)).toMatchObject(unknown);
  // For this key a message is not an event, and a mailbox is not a target.
  expect(await call("GET", `/api/v1/events/${own.message}`)).toMatchObject(refused);
  expect(await call("GET", `/api/v1/targets/${own.mailbox}`)).toMatchObject(refused);
  expect(await call("POST", `/t/${own.mailbox}`, {})).toMatchObject(refused);
});

describe("a key limited to a customer", () => {
  it("lists the customer's things", async ({ keyOf, as, call: everything, shops: { own } }) => {
    const call = as((await keyOf({ scope: "customer", customer_uid: "own" })).key);
    const published: string = (await everything("POST", "/p/own", { event_type: "shared" })).body.id;
    await everything("POST", "/p/other", { event_type: "shared" });
    const ids = async (path: string, list: string): Promise<string[]> =>
      (await call("GET", path)).body[list].map(({ id }: { id: string }) => id);
    expect(await ids("/api/v1/targets", "targets")).toEqual([own.webhook, own.mailbox]);
    expect(await ids("/api/v1/targets?customer_uid=other", "targets")).toEqual([]);
    expect(await ids("/api/v1/targets?customer_uid=", "targets")).toEqual([]);
    expect(await ids("/api/v1/publications?limit=1", "publications")).toEqual([published]);
    expect(await ids("/api/v1/publications?customer_uid=other", "publications")).toEqual([]);
    const targetsOf = async (query: string): Promise<Set<string>> =>
      new Set(
        (await call("GET", `/api/v1/events?${query}`)).body.events.map(
          ({ endpoint_id: id }: { endpoint_id: string }) => id,
        ),
      );
    const both = new Set([own.webhook, own.mailbox]);
    for (const query of ["", "order=asc", "event_type=shared"]) expect(await targetsOf(query)).toEqual(both);
    expect(await targetsOf("status=QUEUED")).toEqual(new Set([own.webhook]));
    expect(await targetsOf("status=UNREAD")).toEqual(new Set([own.mailbox]));
    expect(await targetsOf(`target_id=${own.webhook}`)).toEqual(new Set([own.webhook]));
  });

  it("finds nothing of other customers", async ({ keyOf, as, call: everything, shops: { other } }) => {
    const call = as((await keyOf({ scope: "customer", customer_uid: "own" })).key);
    expect((await call("GET", `/api/v1/events?target_id=${other.webhook}`)).body.events).toEqual([]);
    const published: string = (await everything("POST", "/p/other", {})).body.id;
    for (const path of [
      `targets/${other.webhook}`,
      `targets/${other.webhook}/health`,
      `events/${other.event}`,
      `events/${other.event}/payload`,
      `events/${other.message}`,
      `publications/${published}`,
      `mailboxes/${other.mailbox}/messages`,
    ]) {
      expect(await call("GET", `/api/v1/${path}`), path).toMatchObject(unknown);
    }
    expect(await call("POST", `/api/v1/publications/${published}/replay`, { to: "failed" })).toMatchObject(
      unknown,
    );
    expect(await call("POST", "/p/other", {})).toMatchObject({
      status: 404,
      body: { error: "no customer other" },
    });
    expect(await call("POST", `/t/${other.webhook}`, {})).toMatchObject(unknown);
    expect(await call("DELETE", `/api/v1/targets/${other.webhook}`)).toMatchObject(unknown);
    expect(await call("POST", "/p", {})).toMatchObject(refused);
    expect(await call("GET", "/api/v1/customers/own")).toMatchObject(refused);
  });

  it("does not read what a publication sent to a target that now belongs to another customer", async ({
    keyOf,
    as,
    call: everything,
    shops: _made,
  }) => {
    const call = as((await keyOf({ scope: "customer", customer_uid: "own" })).key);
    const moving = { kind: "mailbox", name: "moving", customer_uid: "own" };
    const { id: mailbox } = (await everything("POST", "/api/v1/targets", moving)).body;
    const publication = (await everything("POST", "/p/own", {})).body;
    const publishedTo = async (reader: typeof call): Promise<string[]> => {
      const { items } = (await reader("GET", `/api/v1/publications/${publication.id}`)).body.publication;
      return items.map(({ endpoint_id: target }: { endpoint_id: string }) => target);
    };
    const claim = await everything("POST", `/api/v1/mailboxes/${mailbox}/claim`, {});
    const [{ id, claim_token }] = claim.body.messages;
    const messages = [{ id, claim_token }];
    await everything("POST", `/api/v1/mailboxes/${mailbox}/reject`, { messages, reason: "no" });
    expect(await publishedTo(call)).toContain(mailbox);

    await everything("PATCH", `/api/v1/targets/${mailbox}`, { customer_uid: "other" });
    expect(await publishedTo(call)).not.toContain(mailbox);
    const replay = `/api/v1/publications/${publication.id}/replay`;
    const nothing = { status: 202, body: { items: [], skipped: [] } };
    expect(await call("POST", replay, { to: "failed" })).toMatchObject(nothing);
    expect(await publishedTo(everything)).toContain(mailbox);
    expect((await everything("POST", replay, { to: "failed" })).body.items).toMatchObject([
      { target_id: mailbox },
    ]);
    await everything("DELETE", `/api/v1/targets/${mailbox}`);
  });

  it("does not read what was published to a deleted customer of the same uid", async ({
    pool,
    account,
    keyOf,
    as,
    call: everything,
  }) => {
    await everything("PUT", "/api/v1/customers/again", {});
    const { id } = (await everything("POST", "/p/again", { told: "the one before" })).body;
    await everything("DELETE", "/api/v1/customers/again");
    await everything("PUT", "/api/v1/customers/again", {});
    // Two minutes later.
    await makeOlder(pool, -120, "customers", { org_id: account.user.org_id, uid: "again" });
    const call = as((await keyOf({ scope: "customer", customer_uid: "again" })).key);
    expect((await call("POST", "/api/v1/targets", { kind: "mailbox", name: "new" })).status).toBe(200);
    expect((await call("GET", "/api/v1/publications")).body.publications).toEqual([]);
    expect(await call("GET", `/api/v1/publications/${id}`)).toMatchObject(unknown);
    expect(await call("POST", `/api/v1/publications/${id}/replay`, { to: "added" })).toMatchObject(unknown);
    expect((await everything("GET", `/api/v1/publications/${id}`)).status).toBe(200);
  });

  it("sends and publishes to the customer, and creates targets for it", async ({
    keyOf,
    as,
    shops: { own, other },
  }) => {
    const call = as((await keyOf({ scope: "customer", customer_uid: "own" })).key);
    expect((await call("POST", `/t/${own.webhook}`, {})).status).toBe(202);
    expect((await call("POST", "/p/own", {})).body.items).toHaveLength(2);
    const made = await call("POST", "/api/v1/targets", { kind: "mailbox", name: "made" });
    expect(made.body).toMatchObject({ customer_uid: "own" });
    const path = `/api/v1/targets/${made.body.id}`;
    expect((await call("PATCH", path, { name: "changed", customer_uid: "own" })).status).toBe(200);
    for (const [customer_uid, reason] of [
      ["other", /^customer_uid: no customer/],
      ["nobody", /^customer_uid: no customer/],
      [null, /^customer_uid cannot be null/],
    ] as const) {
      const refusal = { status: 400, body: { error: expect.stringMatching(reason) } };
      expect(await call("PATCH", path, { customer_uid })).toMatchObject(refusal);
      const body = { kind: "mailbox", name: "stray", customer_uid };
      expect(await call("POST", "/api/v1/targets", body)).toMatchObject(refusal);
    }
    const agent = {
      kind: "a2a",
      name: "a",
      agent_card_url: "http://127.0.0.1:9/",
      result_target_id: other.mailbox,
    };
    expect(await call("POST", "/api/v1/targets", agent)).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(/result_target_id/) },
    });
    expect((await call("DELETE", path)).status).toBe(200);
  });

  it("becomes invalid with the customer, and stays invalid for a later customer of the same uid", async ({
    node,
    account,
    call: everything,
    keyOf,
    as,
  }) => {
    await everything("PUT", "/api/v1/customers/short", {});
    const { id, key } = await keyOf({ scope: "customer", customer_uid: "short" });
    const call = as(key);
    expect((await call("POST", "/p/short", {})).status).toBe(202);
    expect((await everything("DELETE", "/api/v1/customers/short")).status).toBe(200);
    await everything("PUT", "/api/v1/customers/short", {});
    expect((await call("POST", "/p/short", {})).status).toBe(401);
    expect((await call("GET", "/api/v1/targets")).status).toBe(401);
    const [entry] = await entries(node, account, `?object_id=${id}&action=key.deleted`);
    expect(entry).toMatchObject({ before: { scope: "customer", customer_uid: "short" } });
  });

  it("has one audit entry of its deletion, also when it is deleted while its customer is", async ({
    node,
    account,
    call: everything,
    keyOf,
    skip,
  }) => {
    skip(citusUrl !== undefined, "the coordinator does not see lock waits of workers");
    await everything("PUT", "/api/v1/customers/raced", {});
    const { id } = await keyOf({ scope: "customer", customer_uid: "raced" });
    const letGo = await holdRows(node.pool, "api_keys", { id });
    onTestFinished(letGo);
    const deletions = [`keys/${id}`, "customers/raced"].map((path) =>
      everything("DELETE", `/api/v1/${path}`),
    );
    await until(async () => (await countLockWaits(node.pool)) === 2);
    await letGo();
    const [ofKey, ofCustomer] = await Promise.all(deletions);
    expect([200, 404]).toContain(ofKey!.status);
    expect(ofCustomer!.status).toBe(200);
    expect(await entries(node, account, `?object_id=${id}&action=key.deleted`)).toHaveLength(1);
  });
});

it("a limited key that is revoked is invalid everywhere, also on routes that refused it before", async ({
  node,
  other,
  account,
  keyOf,
  shops,
}) => {
  const { id, key } = await keyOf({ scope: "send" });
  const claim = () => node.call("POST", `/api/v1/mailboxes/${shops.own.mailbox}/claim`, { key, body: {} });
  expect(await claim()).toMatchObject(refused);
  expect((await node.call("POST", `/t/${shops.own.webhook}`, { key, body: {} })).status).toBe(202);
  await other.call("DELETE", `/api/v1/keys/${id}`, { session: account.session_token });
  expect((await claim()).status).toBe(401);
  expect((await node.call("POST", `/t/${shops.own.webhook}`, { key, body: {} })).status).toBe(401);
});

it("an agent's tools can do what its key's scope allows", async ({ node, keyOf, shops: { own, other } }) => {
  const { key } = await keyOf({ scope: "consume", mailbox_ids: [own.mailbox] });
  const tool = async (name: string, args: object): Promise<{ isError?: boolean }> => {
    const { body } = await node.call("POST", "/mcp", {
      key,
      headers: { accept: "application/json, text/event-stream" },
      body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } },
    });
    return body.result;
  };
  expect((await tool("claim_messages", { mailbox_id: own.mailbox })).isError).not.toBe(true);
  expect((await tool("claim_messages", { mailbox_id: other.mailbox })).isError).toBe(true);
  expect((await tool("list_targets", {})).isError).toBe(true);
});
