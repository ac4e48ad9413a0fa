import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { type Account, createTestNode, newEmail, signUp, type TestNode } from "./support/testNode.ts";

let database: TestDatabase;
let node: TestNode;
let account: Account;
let ids: Record<"webhook" | "mailbox", string>;

beforeAll(async () => {
  database = await createTestDatabase();
  node = createTestNode(database, { POSTRIDER_ROLES: "api" });
  account = await signUp(node);
  ids = { webhook: await create({ kind: "webhook", url }), mailbox: await create({ kind: "mailbox" }) };
});

afterAll(async () => {
  await node?.stop();
  await database?.drop();
});

const url = "https://8.8.8.8/hooks";

async function create(fields: object): Promise<string> {
  const body = { name: "plain", ...fields };
  return (await node.call("POST", "/api/v1/targets", { key: account.api_key, body })).body.id;
}

/** Every route that takes a name or a description, with a body that has one. */
const routes: [name: string, method: "POST" | "PATCH", path: () => string, body: (text: string) => object][] =
  [
    ["a new webhook", "POST", () => "/api/v1/targets", (name) => ({ kind: "webhook", name, url })],
    ["a new mailbox", "POST", () => "/api/v1/targets", (name) => ({ kind: "mailbox", name })],
    ["a target", "PATCH", () => `/api/v1/targets/${ids.mailbox}`, (name) => ({ name })],
    ["a new endpoint", "POST", () => "/api/v1/endpoints", (name) => ({ name, url })],
    ["an endpoint", "PATCH", () => `/api/v1/endpoints/${ids.webhook}`, (name) => ({ name })],
    ["an API key", "POST", () => "/api/v1/keys", (name) => ({ name })],
    ["the organization", "PATCH", () => "/api/v1/orgs", (name) => ({ name })],
    [
      "a new account",
      "POST",
      () => "/api/v1/auth/signup",
      (name) => ({ name, email: newEmail(), password: "long enough" }),
    ],
  ];

function call(method: "POST" | "PATCH", path: string, body: object) {
  const credential = path.endsWith("/keys") ? { session: account.session_token } : { key: account.api_key };
  return node.call(method, path, { ...(path.includes("/auth/") ? {} : credential), body });
}

describe.each(routes)("the name of %s", (_name, method, path, bodyOf) => {
  it.each(["a\nb", "a\tb", "a\u007f", "a\u0085b", "a\u202etxt.exe", "\u2066a\u2069", "a\u200f", "a\u2028b"])(
    "is not %j",
    async (text) => {
      expect(await call(method, path(), bodyOf(text))).toMatchObject({
        status: 400,
        body: { error: "name must not have control or bidirectional characters" },
      });
    },
  );
});

it("names of every script, and emoji of several parts, are taken", async () => {
  for (const name of ["Zoë's Küche", "注文", "طلبات", "הזמנות", "👩‍👩‍👧 orders", "नमस्ते"]) {
    const answer = await call("PATCH", `/api/v1/targets/${ids.mailbox}`, { name });
    expect(answer).toMatchObject({ status: 200, body: { name } });
  }
});

it("a description may have several lines, and nothing that hides or turns them", async () => {
  const change = (description: string) => call("PATCH", `/api/v1/targets/${ids.mailbox}`, { description });
  expect((await change("one\r\n\ttwo")).body).toMatchObject({ description: "one\r\n\ttwo" });
  for (const text of ["a\u001b[2J", "a\u202eb", "a\u0008"]) {
    expect(await change(text)).toMatchObject({
      status: 400,
      body: { error: "description must not have control or bidirectional characters" },
    });
  }
});
