import { describe, expect } from "vitest";
import { newEmail } from "./support/testNode.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";
import { createMailboxTarget, createWebhookTarget } from "./support/items.ts";

const it = sharedNodeTest({ POSTRIDER_ROLES: "api" })
  .extend("ids", file, async ({ node, account }) => ({
    webhook: (await createWebhookTarget(node, account, url)).id,
    mailbox: await createMailboxTarget(node, account),
  }))
  .extend("ask", file, ({ account, ids, node }) => (method: "POST" | "PATCH", path: string, body: object) => {
    const credential = path.endsWith("/keys") ? { session: account.session_token } : { key: account.api_key };
    const whole = path.replace("<mailbox>", ids.mailbox).replace("<webhook>", ids.webhook);
    return node.call(method, whole, { ...(path.includes("/auth/") ? {} : credential), body });
  });

const url = "https://8.8.8.8/hooks";

/** Every route that accepts a name or a description, with a body that contains one. */
const routes: [name: string, method: "POST" | "PATCH", path: string, body: (text: string) => object][] = [
  ["a new webhook", "POST", "/api/v1/targets", (name) => ({ kind: "webhook", name, url })],
  ["a new mailbox", "POST", "/api/v1/targets", (name) => ({ kind: "mailbox", name })],
  ["a target", "PATCH", "/api/v1/targets/<mailbox>", (name) => ({ name })],
  ["a new endpoint", "POST", "/api/v1/endpoints", (name) => ({ name, url })],
  ["an endpoint", "PATCH", "/api/v1/endpoints/<webhook>", (name) => ({ name })],
  ["an API key", "POST", "/api/v1/keys", (name) => ({ name })],
  ["the organization", "PATCH", "/api/v1/orgs", (name) => ({ name })],
  [
    "a new account",
    "POST",
    "/api/v1/auth/signup",
    (name) => ({ name, email: newEmail(), password: "long enough" }),
  ],
];

describe.each(routes)("the name of %s", (_name, method, path, bodyOf) => {
  it.for(["a\nb", "a\tb", "a\u007f", "a\u0085b", "a\u202etxt.exe", "\u2066a\u2069", "a\u200f", "a\u2028b"])(
    "may not be %j",
    async (text, { ask }) => {
      expect(await ask(method, path, bodyOf(text))).toMatchObject({
        status: 400,
        body: { error: "name must not have control or bidirectional characters" },
      });
    },
  );
});

it.for(["ad\u202ea@example.com", "ada@exam\u200fple.com", "<ada@example.com>", "ada@example.com>"])(
  "the address of an account, which is its name, may not be %j",
  async (email, { ask }) => {
    for (const [path, body] of [
      ["/api/v1/auth/signup", { email, password: "long enough" }],
      ["/api/v1/auth/password-reset", { email }],
    ] as const) {
      expect(await ask("POST", path, body)).toMatchObject({
        status: 400,
        body: { error: "email must be an address such as name@example.com" },
      });
    }
  },
);

it("names in every script, and emoji of several parts, are accepted", async ({ ask, ids }) => {
  for (const name of ["Zoë's Küche", "注文", "طلبات", "הזמנות", "👩‍👩‍👧 orders", "नमस्ते"]) {
    const answer = await ask("PATCH", `/api/v1/targets/${ids.mailbox}`, { name });
    expect(answer).toMatchObject({ status: 200, body: { name } });
  }
});

it("a description may have several lines, but no characters that hide or reorder text", async ({
  ask,
  ids,
}) => {
  const change = (description: string) => ask("PATCH", `/api/v1/targets/${ids.mailbox}`, { description });
  expect((await change("one\r\n\ttwo")).body).toMatchObject({ description: "one\r\n\ttwo" });
  for (const text of ["a\u001b[2J", "a\u202eb", "a\u0008"]) {
    expect(await change(text)).toMatchObject({
      status: 400,
      body: { error: "description must not have control or bidirectional characters" },
    });
  }
});
