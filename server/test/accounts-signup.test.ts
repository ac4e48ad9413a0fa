import { randomBytes } from "node:crypto";
import { describe, expect } from "vitest";
import { leastRoundTripsOf } from "./support/roundTrips.ts";
import { type Answer, createTestNode, newEmail, signUp, type TestNode } from "./support/testNode.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";
import { placesOfText } from "./support/placesOfText.ts";
import { countRows } from "./support/unseenRows.ts";

const it = sharedNodeTest()
  .extend(
    "post",
    file,
    ({ node }) =>
      (body: unknown, on: TestNode = node): Promise<Answer> =>
        on.call("POST", "/api/v1/auth/signup", { body }),
  )
  .extend("rowCounts", file, ({ node }) => async (): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {};
    for (const table of ["organizations", "users", "api_keys", "sessions"]) {
      counts[table] = await countRows(node.pool, table);
    }
    return counts;
  });

const id = expect.stringMatching(/^[0-9a-f]{32}$/);

describe("signup", () => {
  it("answers with the user, a session and an API key, and both credentials work", async ({ post, node }) => {
    const answer = await post({ email: "Ada@Example.com", password: "correct horse", name: "Ada Lovelace" });
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body).toEqual({
      user: { id, email: "Ada@Example.com", name: "Ada Lovelace", org_id: id, role: "admin" },
      session_token: expect.any(String),
      api_key: expect.stringMatching(/^ak_live_[0-9a-f]{64}$/),
    });
    const { user, session_token: session, api_key: key } = answer.body;
    expect((await node.call("GET", "/api/v1/auth/me", { session })).body).toEqual({ user });
    expect((await node.call("GET", "/api/v1/auth/me", { key })).body).toEqual({
      user: { org_id: user.org_id },
    });
    const { keys } = (await node.call("GET", "/api/v1/keys", { key })).body;
    expect(keys).toEqual([
      { id, name: "default", prefix: key.slice(0, 12), created_at: expect.any(Number), last_used_at: null },
    ]);
    const { org } = (await node.call("GET", "/api/v1/orgs", { session })).body;
    expect(org).toMatchObject({ id: user.org_id, name: "Ada Lovelace", billing_status: "active" });
  });

  it("names a user after the local part of the address if no name is given", async ({ post }) => {
    const local = randomBytes(8).toString("hex");
    expect((await post({ email: `${local}@example.com`, password: "12345678" })).body.user.name).toBe(local);
    expect((await post({ email: newEmail(), password: "12345678", name: "  Zoë  " })).body.user.name).toBe(
      "Zoë",
    );
    const blank = await post({ email: `b${local}@example.com`, password: "12345678", name: "   " });
    expect(blank.body.user.name).toBe(`b${local}`);
  });

  it("stores password, session and key only as hashes", async ({ own: { account }, node }) => {
    for (const secret of [account.password, account.session_token, account.api_key.slice(8)])
      expect(await placesOfText(node.pool, secret)).toEqual([]);
    expect(await placesOfText(node.pool, "$argon2id$v=19$m=19456,t=2,p=1$")).toEqual(["users.password_hash"]);
  });

  it("starts an organization pending and without a key while live billing is on", async ({
    database,
    post,
  }) => {
    const billing = createTestNode(database, {
      POSTRIDER_BILLING: "stripe",
      STRIPE_SECRET_KEY: "sk_test_1",
      STRIPE_WEBHOOK_SECRET: "whsec_1",
      STRIPE_PRICE_ID: "price_1",
      STRIPE_METER_EVENT_NAME: "items",
      STRIPE_METER_ID: "mtr_1",
    });
    try {
      const { status, body } = await post({ email: newEmail(), password: "12345678" }, billing);
      expect(status).toBe(200);
      expect(Object.keys(body)).toEqual(["user", "session_token"]);
      const session = body.session_token;
      const { org } = (await billing.call("GET", "/api/v1/orgs", { session })).body;
      expect(org).toMatchObject({ billing_status: "pending", billing_grace_ends_at: null });
      expect((await billing.call("GET", "/api/v1/keys", { session })).body).toEqual({ keys: [] });
    } finally {
      await billing.stop();
    }
  });
});

describe("signup of a taken email", () => {
  it("answers 200 with a message only and changes nothing", async ({ node, rowCounts, post }) => {
    const account = await signUp(node, `taken-${newEmail()}`);
    const before = await rowCounts();
    for (const email of [account.user.email, ` ${account.user.email.toUpperCase()}\t`]) {
      const answer = await post({ email, password: "another password", name: "Mallory" });
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ message: expect.any(String) });
    }
    expect(await rowCounts()).toEqual(before);
    const { body } = await node.call("GET", "/api/v1/auth/me", { session: account.session_token });
    expect(body).toEqual({ user: account.user });
    const login = (password: string): Promise<Answer> =>
      node.call("POST", "/api/v1/auth/login", { body: { email: account.user.email, password } });
    expect((await login("another password")).status).toBe(401);
    expect((await login(account.password)).status).toBe(200);
  });

  it("does the same work as a sign-up of a new address", async ({ node, post }) => {
    const { user } = await signUp(node);
    const answerTo = (emailOf: () => string) => () => post({ email: emailOf(), password: "correct horse" });
    const taken = await leastRoundTripsOf(
      node.pool,
      answerTo(() => user.email),
    );
    expect(taken).toBe(await leastRoundTripsOf(node.pool, answerTo(newEmail)));
    expect(taken).toBeGreaterThan(2);
  });

  it("counts toward the passwords that may wait to be hashed", async ({ node, post }) => {
    const { user } = await signUp(node);
    const answers = await Promise.all(
      Array.from({ length: 250 }, () => post({ email: user.email, password: "correct horse" })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]));
  });

  it("creates one account for twenty simultaneous sign-ups on two nodes", async ({
    rowCounts,
    post,
    node,
    other,
  }) => {
    const before = await rowCounts();
    const email = newEmail();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        post(
          { email: index % 3 === 0 ? email.toUpperCase() : email, password: `password ${index}` },
          index % 2 === 0 ? node : other,
        ),
      ),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(200));
    expect(answers.filter((answer) => answer.body.user !== undefined)).toHaveLength(1);
    expect(answers.filter((answer) => Object.keys(answer.body).join() === "message")).toHaveLength(19);
    const after = await rowCounts();
    for (const table of Object.keys(before)) expect(after[table]).toBe(before[table]! + 1);
  });
});

describe("signup input", () => {
  const good = { email: "someone@example.com", password: "12345678" };
  const cases: [string, object, string][] = [
    ["no email", { password: "12345678" }, "email is required"],
    ["no password", { email: newEmail() }, "password is required"],
    ["a short password", { ...good, password: "1234567" }, "password must be at least 8 characters"],
    [
      "7 characters in 14 units",
      { ...good, password: "💥".repeat(7) },
      "password must be at least 8 characters",
    ],
    ["a long password", { ...good, password: "x".repeat(129) }, "password must be at most 128 characters"],
    [
      "an email of 257",
      { ...good, email: `${"a".repeat(251)}@b.com` },
      "email must be at most 256 characters",
    ],
    ["a name of 257", { ...good, name: "n".repeat(257) }, "name must be at most 256 characters"],
    ["an email that is a number", { ...good, email: 5 }, "email must be a string"],
    ["a password that is null", { ...good, password: null }, "password must be a string"],
    ["a name that is a list", { ...good, name: [] }, "name must be a string"],
    ["a body that is a list", [], "the body must be an object"],
    ...["", " ", "@", "a@", "@b", "ab", "a@b@c", "a b@c", "a@b c", "a@\u0007b", "a\n@b", "a@b\u00a0c"].map(
      (email): [string, object, string] => [
        `the email ${JSON.stringify(email)}`,
        { ...good, email },
        "email must be an address such as name@example.com",
      ],
    ),
  ];

  it.for(cases)("%s: 400", async ([_what, body, message], { post }) => {
    const answer = await post(body);
    expect(answer).toMatchObject({ status: 400, body: { error: message } });
    expect(Object.keys(answer.body)).toEqual(["error"]);
  });

  it("is limited in characters, not in code units", async ({ post, node }) => {
    const email = `${"é".repeat(244)}@example.com`;
    const longest = await post({ email, password: "💥".repeat(128), name: "💌".repeat(256) });
    expect(longest).toMatchObject({ status: 200, body: { user: { email, name: "💌".repeat(256) } } });
    const login = { email, password: "💥".repeat(128) };
    expect((await node.call("POST", "/api/v1/auth/login", { body: login })).status).toBe(200);
    expect((await post({ email: newEmail(), password: "💥".repeat(8) })).status).toBe(200);
  });
});
