import { describe, expect } from "vitest";
import { newEmail } from "./support/testNode.ts";
import { sharedNodeTest } from "./support/fixtures.ts";

const it = sharedNodeTest();

describe("with restricted sign-up", () => {
  const stranger = { email: "stranger@example.com", password: "correct horse" };

  it("nobody can sign up, but invited people can join", async ({ newNode, node, account }) => {
    const invited = newNode({ POSTRIDER_SIGNUP: "invited" });
    const refused = await invited.call("POST", "/api/v1/auth/signup", { body: stranger });
    expect(refused).toMatchObject({
      status: 403,
      body: { error: expect.stringMatching(/ask a member of an organization to invite you$/) },
    });
    expect(refused.headers["x-error-code"]).toBe("signup_closed");
    const { session_token: session } = account;
    const { body } = await invited.call("POST", "/api/v1/invitations", { session, body: { role: "viewer" } });
    const accept = { token: body.token, email: newEmail(), password: "correct horse" };
    expect((await invited.call("POST", "/api/v1/invitations/accept", { body: accept })).status).toBe(200);
    expect(
      (await node.call("POST", "/api/v1/auth/signup", { body: { ...stranger, email: newEmail() } })).status,
    ).toBe(200);
  });

  it("invitations can be disabled as well, so that only an operator creates accounts", async ({
    newNode,
    node,
    account,
  }) => {
    const closed = newNode({ POSTRIDER_SIGNUP: "closed" });
    const { session_token: session } = account;
    const { body } = await node.call("POST", "/api/v1/invitations", { session, body: { role: "viewer" } });
    const accept = { token: body.token, email: newEmail(), password: "correct horse" };
    for (const [path, options] of [
      ["/api/v1/auth/signup", { body: stranger }],
      ["/api/v1/invitations", { session, body: { role: "viewer" } }],
      ["/api/v1/invitations/accept", { body: accept }],
    ] as const) {
      const { status, headers } = await closed.call("POST", path, options);
      expect({ path, status, code: headers["x-error-code"] }).toEqual({
        path,
        status: 403,
        code: "signup_closed",
      });
    }
  });
});
