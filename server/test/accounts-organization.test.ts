import { describe, expect } from "vitest";
import { type Account, newEmail, signUp } from "./support/testNode.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";
import { setBillingStatus } from "./support/storedStates.ts";

const it = sharedNodeTest()
  .extend("read", file, ({ node }) => async ({ api_key: key }: Account): Promise<Record<string, unknown>> => {
    const { status, body } = await node.call("GET", "/api/v1/orgs", { key });
    expect(status).toBe(200);
    return body.org;
  })
  .extend("signUpNamed", file, ({ node }) => async (name: string): Promise<Account> => {
    const body = { email: newEmail(), password: "12345678", name };
    return (await node.call("POST", "/api/v1/auth/signup", { body })).body;
  });

describe("the organization", () => {
  it("is read with a key or a session, with the same result", async ({ own: { account }, node }) => {
    const answers = await Promise.all([
      node.call("GET", "/api/v1/orgs", { key: account.api_key }),
      node.call("GET", "/api/v1/orgs", { session: account.session_token }),
    ]);
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(body).toEqual({
        org: {
          id: account.user.org_id,
          name: account.user.name,
          slug: expect.any(String),
          billing_status: "active",
          billing_grace_ends_at: null,
          secrets_can_be_revealed: false,
          created_at: expect.closeTo(Date.now() / 1000, -3),
        },
      });
      expect(Number.isInteger(body.org.created_at)).toBe(true);
    }
    expect((await node.call("GET", "/api/v1/orgs")).status).toBe(401);
  });

  it("has a slug made from its name, which does not reveal whether other organizations use that name", async ({
    read,
    signUpNamed,
  }) => {
    const [first, second] = [
      await read(await signUpNamed("Café Zürich & Co")),
      await read(await signUpNamed("Café Zürich & Co")),
    ];
    for (const { slug } of [first, second]) expect(slug).toMatch(/^cafe-zurich-co-[0-9a-f]{10}$/);
    expect(first["slug"]).not.toBe(second["slug"]);
    expect((await read(await signUpNamed("日本")))["slug"]).toMatch(/^organization-[0-9a-f]{10}$/);
    expect((await read(await signUpNamed("!".repeat(100))))["slug"]).toMatch(/^organization-[0-9a-f]{10}$/);
    expect((await read(await signUpNamed("long ".repeat(51))))["slug"]).toMatch(
      /^[a-z]+(-[a-z]+)*-[0-9a-f]{10}$/,
    );
  });

  it("is renamed with a key or a session, and keeps its slug", async ({ node, read }) => {
    const [account, neighbour] = [await signUp(node), await signUp(node)];
    const before = await read(account);
    const credentials = [{ key: account.api_key }, { session: account.session_token }];
    for (const [index, credential] of credentials.entries()) {
      const name = `  ${"💌".repeat(256 - 4 - 1)}${index}  `;
      const answer = await node.call("PATCH", "/api/v1/orgs", {
        ...credential,
        body: { name, slug: "mine" },
      });
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ updated: true });
      expect(await read(account)).toEqual({ ...before, name: name.trim() });
    }
    expect((await read(neighbour))["name"]).toBe(neighbour.user.name);
    expect((await node.call("PATCH", "/api/v1/orgs", { body: { name: "x" } })).status).toBe(401);
  });

  it.for([
    ["no known field", { colour: "red" }, "name is required, unless secrets_can_be_revealed is given"],
    ["an empty name", { name: "" }, "name must not be empty"],
    ["a blank name", { name: "  " }, "name must not be empty"],
    ["a name of 257 characters", { name: "x".repeat(257) }, "name must be at most 256 characters"],
    [
      "a switch that is none",
      { secrets_can_be_revealed: "true" },
      "secrets_can_be_revealed must be a boolean",
    ],
    ["null for a name", { name: null }, "name must be a string"],
    [
      "a billing state",
      { billing_status: "exempt" },
      "name is required, unless secrets_can_be_revealed is given",
    ],
  ] as const)("is not changed by %s: 400", async ([_what, body, message], { node, read }) => {
    const account = await signUp(node);
    const before = await read(account);
    const answer = await node.call("PATCH", "/api/v1/orgs", { key: account.api_key, body });
    expect(answer).toMatchObject({ status: 400, body: { error: message } });
    expect(await read(account)).toEqual(before);
  });

  it("is read as suspended once its grace period has ended", async ({ own: { account }, node, read }) => {
    const endsAt = await setBillingStatus(node.pool, account.user, "grace", 100);
    expect(await read(account)).toMatchObject({ billing_status: "grace", billing_grace_ends_at: endsAt });
    await setBillingStatus(node.pool, account.user, "grace", -1);
    expect(await read(account)).toMatchObject({ billing_status: "suspended", billing_grace_ends_at: null });
  });
});
