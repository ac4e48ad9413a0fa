import { randomBytes } from "node:crypto";
import { describe, expect } from "vitest";
import { bucketOf } from "../src/postgres/ids.ts";
import { type Account, type Answer, signUp } from "./support/testNode.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";
import { placesOfText } from "./support/placesOfText.ts";
import { storeMailboxTargets } from "./support/storedItems.ts";

const it = sharedNodeTest()
  .extend("neighbour", file, ({ node }) => signUp(node))
  .extend(
    "create",
    file,
    ({ account, node }) =>
      (body: unknown, { api_key: key }: Account = account): Promise<Answer> =>
        node.call("POST", "/api/v1/targets", { key, body }),
  )
  .extend(
    "created",
    file,
    ({ account, create }) =>
      async (body: unknown, owner: Account = account): Promise<Answer["body"]> => {
        const answer = await create(body, owner);
        expect(answer).toMatchObject({ status: 200 });
        return answer.body;
      },
  )
  .extend("target", ({ created }) => created(webhook));

const refusedAddress =
  "url points to an address that is not allowed: POSTRIDER_ALLOWED_NETWORKS can allow networks";
const webhook = { kind: "webhook", name: "orders", url: "https://8.8.8.8/hooks" };

/** The fields in the answer for a new target of any kind. */
const ofEveryKind = {
  id: expect.stringMatching(/^[0-9a-f]{32}$/),
  description: "",
  enabled: true,
  max_payload_bytes: 1_048_576,
  created_at: expect.closeTo(Date.now() / 1000, -3),
  updated_at: expect.closeTo(Date.now() / 1000, -3),
};

describe("a webhook target", () => {
  it("is created with its secret, and shown without it afterwards", async ({ target, account, node }) => {
    expect(target).toEqual({
      ...ofEveryKind,
      kind: "webhook",
      name: "orders",
      url: "https://8.8.8.8/hooks",
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      signing_scheme: "standard-webhooks-v1",
      has_previous_signing_secret: false,
      event_types: [],
      max_retries: 8,
      retry_interval_seconds: 30,
      rate_limit_per_second: null,
      rate_limit_burst: null,
      max_concurrency: null,
      headers: {},
    });
    const { secret: _secret, ...shown } = target;
    for (const credential of [{ key: account.api_key }, { session: account.session_token }]) {
      const alone = await node.call("GET", `/api/v1/targets/${target.id}`, credential);
      expect(alone).toMatchObject({ status: 200, body: shown });
      expect(alone.body).toEqual(shown);
      const { body } = await node.call("GET", "/api/v1/targets", credential);
      expect(body.targets).toContainEqual(shown);
      expect(JSON.stringify(body)).not.toContain("whsec_");
    }
  });

  it("takes the legacy endpoint's fields", async ({ created }) => {
    const fields = {
      description: "from the shop",
      event_types: ["order.made", "order paid", "~"],
      max_payload_bytes: 1,
      max_retries: 0,
      retry_interval_seconds: 86_400,
    };
    expect(await created({ ...webhook, ...fields })).toMatchObject(fields);
    const most = { max_payload_bytes: 1_048_576, max_retries: 50, retry_interval_seconds: 1 };
    expect(await created({ ...webhook, ...most })).toMatchObject(most);
  });

  it("is created disabled on request", async ({ create, created, account, node }) => {
    const off = { ...webhook, enabled: false };
    const target = await created(off);
    expect(target.enabled).toBe(false);
    const key = account.api_key;
    const { body: event } = await node.call("POST", `/t/${target.id}`, { key, body: {} });
    const read = await node.call("GET", `/api/v1/events/${event.id}`, { key });
    expect(read.body.event).toMatchObject({ status: "QUEUED", held: true });
    const made = await node.call("POST", "/api/v1/endpoints", { key, body: off });
    const endpoint = await node.call("GET", `/api/v1/endpoints/${made.body.id}`, { key });
    expect(endpoint.body.endpoint.enabled).toBe(false);
    expect(await create({ ...webhook, enabled: "no" })).toMatchObject({
      status: 400,
      body: { error: "enabled must be a boolean" },
    });
  });

  it("stores its secret encrypted", async ({ created, node }) => {
    const text = String((await created(webhook))["secret"]).slice("whsec_".length);
    for (const secret of [text, Buffer.from(text, "base64")])
      expect(await placesOfText(node.pool, secret)).toEqual([]);
  });
});

describe("a mailbox", () => {
  it("is created from kind and name, and never has a url or a secret", async ({ create, created }) => {
    const refused = await create({ kind: "mailbox", name: "inbox", url: "https://8.8.8.8" });
    expect(refused).toMatchObject({
      status: 400,
      body: { error: "url does not apply to a mailbox target" },
    });
    const target = await created({ kind: "mailbox", name: "inbox" });
    expect(target).toEqual({ ...ofEveryKind, kind: "mailbox", name: "inbox", max_claims: null });
  });
});

describe("the list", () => {
  it("has targets of every kind, oldest first, and no other organization's", async ({ node, created }) => {
    const owner = await signUp(node);
    expect((await node.call("GET", "/api/v1/targets", { key: owner.api_key })).body).toEqual({ targets: [] });
    const first = await created(webhook, owner);
    const second = await created({ kind: "mailbox", name: "inbox" }, owner);
    const { body } = await node.call("GET", "/api/v1/targets", { key: owner.api_key });
    expect(body.targets.map((target: { id: string }) => target.id)).toEqual([first.id, second.id]);
  });
});

it("all targets of an organization have buckets of one cell, and not all the same", async ({
  node,
  created,
}) => {
  const owners = await Promise.all([signUp(node), signUp(node)]);
  for (const owner of owners) {
    const inboxes = Array.from({ length: 12 }, () => created({ kind: "mailbox", name: "inbox" }, owner));
    const targets = await Promise.all([created(webhook, owner), ...inboxes]);
    const buckets = targets.map(({ id }) => bucketOf(String(id)));
    const cells = new Set(buckets.map((bucket) => bucket >> 4));
    expect(cells).toEqual(new Set([bucketOf(owner.user.org_id) >> 4]));
    expect(new Set(buckets).size).toBeGreaterThan(1);
  }
});

const long = "x".repeat(257);

describe("creation refuses with 400", () => {
  it.for([
    ["no kind", { name: "x" }, "kind is required"],
    ["an unknown kind", { kind: "queue", name: "x" }, "kind must be one of webhook, mailbox, a2a"],
    ["a kind of another type", { kind: 7, name: "x" }, "kind must be a string"],
    ["no name", { kind: "mailbox" }, "name is required"],
    ["an empty name", { kind: "mailbox", name: "" }, "name must not be empty"],
    ["a name of 257 characters", { kind: "mailbox", name: long }, "name must be at most 256 characters"],
    ["a webhook without url", { kind: "webhook", name: "x" }, "url is required for a webhook target"],
    ["a url that is none", { ...webhook, url: "example.com" }, "url must be an absolute URL"],
    ["http", { ...webhook, url: "http://example.com" }, "url must use https"],
    ["a loopback address", { ...webhook, url: "https://127.0.0.1/x" }, refusedAddress],
    ["an address in disguise", { ...webhook, url: "https://0x7f.1/x" }, refusedAddress],
    ["localhost", { ...webhook, url: "https://localhost/x" }, refusedAddress],
    ["a private address", { ...webhook, url: "https://[::ffff:10.0.0.1]/" }, refusedAddress],
    ["the metadata address", { ...webhook, url: "https://169.254.169.254/" }, refusedAddress],
    ["credentials in the url", { ...webhook, url: "https://a:b@example.com/" }, "url must not contain"],
    ["a url of 2,049 characters", { ...webhook, url: `https://e.com/${"x".repeat(2035)}` }, "url must be"],
    ["event_types as text", { ...webhook, event_types: "a" }, "event_types must be an array"],
    ["an empty event type", { ...webhook, event_types: [""] }, "event_types.0 must not be empty"],
    ["an event type of 257", { ...webhook, event_types: ["a", long] }, "event_types.1 must be at most 256"],
    ["an event type beyond ASCII", { ...webhook, event_types: ["é"] }, "event_types.0"],
    [
      "101 event types",
      { ...webhook, event_types: Array(101).fill("a") },
      "event_types must have at most 100",
    ],
    ["a payload limit of 0", { ...webhook, max_payload_bytes: 0 }, "max_payload_bytes must be at least 1"],
    [
      "one over the service's",
      { ...webhook, max_payload_bytes: 1_048_577 },
      "max_payload_bytes must be at most",
    ],
    ["51 retries", { ...webhook, max_retries: 51 }, "max_retries must be at most 50"],
    ["-1 retries", { ...webhook, max_retries: -1 }, "max_retries must be at least 0"],
    ["half a retry", { ...webhook, max_retries: 0.5 }, "max_retries must be an integer"],
    ["retries as text", { ...webhook, max_retries: "3" }, "max_retries must be an integer"],
    ["no interval", { ...webhook, retry_interval_seconds: 0 }, "retry_interval_seconds must be at least 1"],
    [
      "more than a day",
      { ...webhook, retry_interval_seconds: 86_401 },
      "retry_interval_seconds must be at most",
    ],
    ["an agent without card", { kind: "a2a", name: "x" }, "agent_card_url is required"],
    ["a list", [], "the body must be an object"],
  ] as const)("%s", async ([_what, body, message], { create }) => {
    const answer = await create(body);
    expect(answer).toMatchObject({ status: 400, body: { error: expect.stringContaining(message) } });
  });
});

it("an organization has at most 10,000 targets, also with simultaneous creations", async ({
  node,
  create,
}) => {
  const owner = await signUp(node);
  await storeMailboxTargets(node.pool, owner.user.org_id, 9_998);
  const answers = await Promise.all(Array.from({ length: 6 }, () => create(webhook, owner)));
  expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([
    200, 200, 409, 409, 409, 409,
  ]);
  expect(answers.find((answer) => answer.status === 409)!.body.error).toContain("10000");
});

describe("another organization's target", () => {
  it("is not found on any route, and stays unchanged", async ({ target, node, account, neighbour }) => {
    const before = await node.call("GET", `/api/v1/targets/${target.id}`, {
      key: account.api_key,
    });
    const unknown = "0".repeat(32);
    const malformed = ["x", "%00", "a".repeat(199), `${target.id}0`, target.id.toUpperCase()];
    for (const id of [target.id, unknown, ...malformed]) {
      const key = neighbour.api_key;
      const path = `/api/v1/targets/${id}`;
      const answers = [
        await node.call("GET", path, { key }),
        await node.call("PATCH", path, { key, body: { name: "mine" } }),
        await node.call("DELETE", path, { key }),
        await node.call("POST", `${path}/refresh`, { key }),
        await node.call("POST", `${path}/signing-secret/rotate`, { key }),
        await node.call("DELETE", `${path}/signing-secret/previous`, { key }),
      ];
      for (const answer of answers) {
        expect(answer).toMatchObject({ status: 404, body: { error: "not found" } });
      }
    }
    const after = await node.call("GET", `/api/v1/targets/${target.id}`, { key: account.api_key });
    expect(after.body).toEqual(before.body);
  });
});

describe("rotation", () => {
  it("returns a new secret once, and shows that a rotation is in progress until the previous secret is deleted", async ({
    target,
    account,
    node,
  }) => {
    const path = `/api/v1/targets/${target.id}`;
    const key = account.api_key;
    const rotated = await node.call("POST", `${path}/signing-secret/rotate`, { key });
    expect(rotated).toMatchObject({
      status: 200,
      body: { id: target.id, has_previous_signing_secret: true, secret: expect.stringMatching(/^whsec_/) },
    });
    expect(rotated.body.secret).not.toBe(target.secret);
    const during = await node.call("GET", path, { key });
    expect(during.body).toMatchObject({ has_previous_signing_secret: true });
    expect(during.body).not.toHaveProperty("secret");
    for (let times = 0; times < 2; times++) {
      const ended = await node.call("DELETE", `${path}/signing-secret/previous`, { key });
      expect(ended).toMatchObject({ status: 200, body: { deleted: true } });
    }
    expect((await node.call("GET", path, { key })).body).toMatchObject({
      has_previous_signing_secret: false,
    });
  });

  it("to a secret of the caller can be repeated, and the previous secret still signs", async ({
    target,
    account,
    node,
  }) => {
    const path = `/api/v1/targets/${target.id}`;
    const session = account.session_token;
    await node.call("PATCH", "/api/v1/orgs", { session, body: { secrets_can_be_revealed: true } });
    const secret = `whsec_${randomBytes(32).toString("base64")}`;
    for (const body of [{ secret }, { secret }, { secret, previous_secret_ends_in_seconds: 3600 }]) {
      const rotated = await node.call("POST", `${path}/signing-secret/rotate`, { session, body });
      expect(rotated).toMatchObject({ status: 200, body: { secret, has_previous_signing_secret: true } });
      const revealed = await node.call("POST", `${path}/signing-secret/reveal`, { session });
      expect(revealed.body).toEqual({ secret, previous_secret: target.secret });
    }
    expect((await node.call("GET", path, { session })).body.previous_signing_secret_until).toBeTypeOf(
      "number",
    );
  });

  it("and refresh answer 400 and name the kind for a target that has no secret or card", async ({
    account,
    created,
    node,
  }) => {
    const key = account.api_key;
    const mailbox = await created({ kind: "mailbox", name: "inbox" });
    const hook = await created(webhook);
    const refusals = [
      await node.call("POST", `/api/v1/targets/${mailbox.id}/signing-secret/rotate`, { key }),
      await node.call("DELETE", `/api/v1/targets/${mailbox.id}/signing-secret/previous`, { key }),
      await node.call("POST", `/api/v1/targets/${mailbox.id}/refresh`, { key }),
    ];
    for (const answer of refusals) {
      expect(answer).toMatchObject({ status: 400, body: { error: expect.stringContaining("mailbox") } });
    }
    const refreshed = await node.call("POST", `/api/v1/targets/${hook.id}/refresh`, { key });
    expect(refreshed).toMatchObject({ status: 400, body: { error: expect.stringContaining("webhook") } });
  });
});
