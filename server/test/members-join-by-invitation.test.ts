import { describe, expect, onTestFinished } from "vitest";
import { listedSeconds } from "../src/members/invitationStore.ts";
import { deleteExpired } from "../src/process/chores.ts";
import { citusUrl } from "./support/citus.ts";
import { join } from "./support/members.ts";
import {
  type Account,
  type Answer,
  createTestNode,
  newEmail,
  signUp,
  type TestNode,
} from "./support/testNode.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";
import { placesOfText } from "./support/placesOfText.ts";
import { countLockWaits, holdRows } from "./support/heldLocks.ts";
import { until } from "./support/until.ts";
import { makeOlder } from "./support/passedTime.ts";

const it = sharedNodeTest()
  .extend("other", file, ({ newNode }) => newNode({ POSTRIDER_PUBLIC_URL: "https://example.com/hooks" }))
  .extend("admin", file, ({ node }) => signUp(node))
  .extend("invite", file, ({ admin, node }) => async (body: object = { role: "member" }, by = admin) => {
    const answer = await node.call("POST", "/api/v1/invitations", { session: by.session_token, body });
    expect(answer.status).toBe(200);
    return answer.body;
  })
  .extend(
    "accept",
    file,
    ({ node }) =>
      (token: string, body: object = {}, on: TestNode = node, from?: string): Promise<Answer> => {
        const whole = { token, email: newEmail(), password: "correct horse", ...body };
        return on.call("POST", "/api/v1/invitations/accept", {
          body: whole,
          ...(from !== undefined && { from }),
        });
      },
  )
  .extend("listed", file, ({ node, admin }) => async (id: string): Promise<Answer["body"]> => {
    const { body } = await node.call("GET", "/api/v1/invitations", { session: admin.session_token });
    return body.invitations.find((one: { id: string }) => one.id === id);
  })
  .extend(
    "members",
    file,
    ({ node }) =>
      async (account: Account): Promise<{ id: string; role: string }[]> =>
        (await node.call("GET", "/api/v1/members", { key: account.api_key })).body.members,
  );

const gone = { status: 410, headers: expect.objectContaining({ "x-error-code": "invitation_gone" }) };

describe("an invitation", () => {
  it("makes its recipient a user of the organization with its role, and is listed as accepted", async ({
    invite,
    listed,
    admin,
    accept,
    other,
    node,
  }) => {
    const { id, token, expires_at, created_at, url } = await invite({ role: "viewer" });
    expect(expires_at - created_at).toBe(7 * 86_400);
    expect(url).toBeNull();
    expect(await listed(id)).toMatchObject({ status: "OPEN", role: "viewer", created_by: admin.user.id });
    const { status, body } = await accept(token, { name: "Grace" }, other);
    expect(status).toBe(200);
    expect(body.user).toMatchObject({ name: "Grace", role: "viewer", org_id: admin.user.org_id });
    const me = await node.call("GET", "/api/v1/auth/me", { session: body.session_token });
    expect(me.body.user).toEqual(body.user);
    expect(await listed(id)).toMatchObject({ status: "ACCEPTED", accepted_by: body.user.id });
    const login = await node.call("POST", "/api/v1/auth/login", {
      body: { email: body.user.email, password: "correct horse" },
    });
    expect(login.body.user).toEqual(body.user);
  });

  it("is shown once with the URL to accept it, and stored as a hash", async ({ other, admin, node }) => {
    const { body } = await other.call("POST", "/api/v1/invitations", {
      session: admin.session_token,
      body: { role: "admin" },
    });
    expect(body.token).toMatch(/^inv_[0-9a-f]{64}$/);
    expect(body.url).toBe(`https://example.com/hooks/join#${body.token}`);
    const list = await node.call("GET", "/api/v1/invitations", { key: admin.api_key });
    expect(JSON.stringify(list.body)).not.toContain(body.token);
    expect(await placesOfText(node.pool, body.token.slice(4))).toEqual([]);
  });

  it("works once, also when it is accepted ten times simultaneously on two nodes", async ({
    invite,
    accept,
    node,
    other,
  }) => {
    const { token } = await invite();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => accept(token, {}, index % 2 === 0 ? node : other)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 410)).toHaveLength(9);
    expect(await accept(token)).toMatchObject(gone);
  });

  it("that is revoked, expired or unknown is answered with 410", async ({
    invite,
    admin,
    node,
    accept,
    other,
    listed,
  }) => {
    const { id, token } = await invite();
    const session = admin.session_token;
    expect((await node.call("DELETE", `/api/v1/invitations/${id}`, { session })).body).toEqual({
      deleted: true,
    });
    expect(await accept(token, {}, other)).toMatchObject(gone);
    expect(await listed(id)).toMatchObject({ status: "REVOKED" });
    expect((await node.call("DELETE", `/api/v1/invitations/${id}`, { session })).status).toBe(200);

    const late = await invite();
    await makeOlder(node.pool, 604_800, "invitations", { id: late.id });
    expect(await accept(late.token)).toMatchObject(gone);
    expect(await listed(late.id)).toMatchObject({ status: "EXPIRED" });
    expect(await accept(`inv_${"0".repeat(64)}`)).toMatchObject(gone);
  });

  it("that was accepted cannot be revoked", async ({ invite, accept, admin, node }) => {
    const { id, token } = await invite();
    await accept(token);
    const session = admin.session_token;
    expect((await node.call("DELETE", `/api/v1/invitations/${id}`, { session })).status).toBe(409);
  });

  it("of an admin who is removed or demoted is revoked, and other admins' invitations are not", async ({
    node,
    invite,
    accept,
  }) => {
    const account = await signUp(node);
    const session = account.session_token;
    const kept = await invite({ role: "viewer" }, account);
    const leaving = [await join(node, account, "admin"), await join(node, account, "admin")];
    const prepared = [];
    for (const { session_token } of leaving) {
      prepared.push(await invite({ role: "admin" }, { ...account, session_token }));
    }
    const [removed, demoted] = leaving.map(({ user }) => user);
    const removal = await node.call("DELETE", `/api/v1/members/${removed!.id}`, { session });
    expect(removal.status).toBe(200);
    const change = { session, body: { role: "member" } };
    expect((await node.call("PATCH", `/api/v1/members/${demoted!.id}`, change)).status).toBe(200);
    for (const { token } of prepared) expect(await accept(token)).toMatchObject(gone);
    const { body } = await node.call("GET", "/api/v1/invitations", { session });
    const states = new Map(
      body.invitations.map((one: { id: string; status: string }) => [one.id, one.status]),
    );
    expect(prepared.map(({ id }) => states.get(id))).toEqual(["REVOKED", "REVOKED"]);
    expect((await accept(kept.token)).status).toBe(200);
  });

  it("for an address works only for that address, in any spelling", async ({ invite, accept }) => {
    const email = newEmail();
    const { token } = await invite({ role: "member", email });
    const wrong = await accept(token);
    expect([wrong.status, wrong.body.error]).toEqual([400, "email must be the address of the invitation"]);
    const { body } = await accept(token, { email: email.toUpperCase() });
    expect(body.user.email).toBe(email.toUpperCase());
  });

  it("for an address is accepted without stating the address, and an open one requires an address", async ({
    invite,
    accept,
  }) => {
    const email = newEmail();
    const { token } = await invite({ role: "member", email });
    expect((await accept(token, { email: undefined })).body.user.email).toBe(email);
    const { token: open } = await invite();
    expect(await accept(open, { email: undefined })).toMatchObject({
      status: 400,
      body: { error: "email is required" },
    });
  });

  it("for an address that has an account gets the same answer as a signup, and stays open", async ({
    node,
    invite,
    accept,
    admin,
  }) => {
    const stranger = await signUp(node);
    const { token } = await invite();
    const signup = await node.call("POST", "/api/v1/auth/signup", {
      body: { email: stranger.user.email, password: "correct horse" },
    });
    const answer = await accept(token, { email: stranger.user.email });
    expect(answer).toMatchObject({ status: 200, body: signup.body });
    expect(Object.keys(answer.body)).toEqual(["message"]);
    const me = await node.call("GET", "/api/v1/auth/me", { session: stranger.session_token });
    expect(me.body.user).toMatchObject({ org_id: stranger.user.org_id, role: "admin" });
    expect((await accept(token)).body.user.org_id).toBe(admin.user.org_id);
  });

  it("is refused for the address of a member", async ({ admin, node }) => {
    const body = { role: "member", email: admin.user.email };
    const refused = await node.call("POST", "/api/v1/invitations", { session: admin.session_token, body });
    expect([refused.status, refused.headers["x-error-code"]]).toEqual([409, "already_member"]);
  });

  it("needs an existing role", async ({ node, admin }) => {
    for (const role of ["owner", "", 1, null]) {
      const { status, body } = await node.call("POST", "/api/v1/invitations", {
        session: admin.session_token,
        body: { role },
      });
      expect([status, body.error]).toEqual([400, expect.stringContaining("role")]);
    }
  });

  it("is limited per client address like logins", async ({ database, invite, accept }) => {
    const limited = createTestNode(database, { POSTRIDER_LOGIN_LIMIT: "5" });
    try {
      const { token } = await invite();
      const statuses: number[] = [];
      for (let index = 0; index < 6; index++) {
        statuses.push((await accept(`inv_${"1".repeat(64)}`, {}, limited, "203.0.113.9")).status);
      }
      expect(statuses).toEqual([410, 410, 410, 410, 410, 429]);
      const refused = await accept(token, {}, limited, "203.0.113.9");
      expect(refused.status).toBe(429);
      expect(refused.headers["ratelimit-policy"]).toBe('"invitation";q=5;w=900');
      expect((await accept(token, {}, limited, "203.0.113.10")).status).toBe(200);
    } finally {
      await limited.stop();
    }
  });

  it("is one of at most a hundred open ones", async ({ node, invite }) => {
    const busy = await signUp(node);
    for (let index = 0; index < 100; index++) await invite({ role: "member" }, busy);
    const session = busy.session_token;
    const refused = await node.call("POST", "/api/v1/invitations", { session, body: { role: "member" } });
    expect([refused.status, refused.headers["x-error-code"]]).toEqual([409, "too_many_invitations"]);
    const { body } = await node.call("GET", "/api/v1/invitations?limit=100", { session });
    await node.call("DELETE", `/api/v1/invitations/${body.invitations[0].id}`, { session });
    await invite({ role: "member" }, busy);
  });

  it("is listed newest first, page by page", async ({ node, invite }) => {
    const owner = await signUp(node);
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) ids.unshift((await invite({ role: "member" }, owner)).id);
    const seen: string[] = [];
    for (let before = ""; ;) {
      const path = `/api/v1/invitations?limit=2${before === "" ? "" : `&before=${before}`}`;
      const { body } = await node.call("GET", path, { session: owner.session_token });
      seen.push(...body.invitations.map((one: { id: string }) => one.id));
      if (body.invitations.length < 2) break;
      before = seen.at(-1)!;
    }
    expect(seen.toSorted().toReversed()).toEqual(ids.toSorted().toReversed());
    expect(new Set(seen).size).toBe(5);
  });

  it("is deleted weeks after it ended", async ({ invite, node, listed }) => {
    const { id } = await invite();
    await makeOlder(node.pool, 38 * 86_400, "invitations", { id });
    expect(await deleteExpired(node.pool, ["invitations"], listedSeconds)).toBe(1);
    expect(await listed(id)).toBeUndefined();
  });
});

describe("members", () => {
  it("are listed with their roles, in the order in which they joined, page by page", async ({
    node,
    members,
  }) => {
    const owner = await signUp(node);
    const [member, viewer] = [await join(node, owner, "member"), await join(node, owner, "viewer")];
    const all = await members(owner);
    expect(all).toMatchObject([
      { id: owner.user.id, email: owner.user.email, role: "admin", last_login_at: expect.any(Number) },
      { id: member.user.id, role: "member" },
      { id: viewer.user.id, role: "viewer" },
    ]);
    const first = await node.call("GET", "/api/v1/members?limit=2", { session: viewer.session_token });
    const rest = await node.call("GET", `/api/v1/members?limit=2&after=${first.body.members[1].id}`, {
      session: viewer.session_token,
    });
    expect([...first.body.members, ...rest.body.members]).toEqual(all);
  });

  it("have the rights of a new role from their next request on, on every node", async ({ node, other }) => {
    const owner = await signUp(node);
    const member = await join(node, owner, "viewer");
    const create = (): Promise<Answer> =>
      other.call("POST", "/api/v1/targets", {
        session: member.session_token,
        body: { kind: "mailbox", name: "m" },
      });
    expect((await create()).status).toBe(403);
    const path = `/api/v1/members/${member.user.id}`;
    const changed = await node.call("PATCH", path, {
      session: owner.session_token,
      body: { role: "member" },
    });
    expect(changed.body).toMatchObject({ id: member.user.id, role: "member" });
    expect((await create()).status).toBe(200);
    await node.call("PATCH", path, { session: owner.session_token, body: { role: "viewer" } });
    expect(await create()).toMatchObject({ status: 403, headers: { "x-error-code": "role_too_low" } });
  });

  it("lose access at once when they are removed, on every node, and their address can be used again", async ({
    node,
    other,
    members,
  }) => {
    const owner = await signUp(node);
    const member = await join(node, owner, "admin");
    const path = `/api/v1/members/${member.user.id}`;
    const removed = await node.call("DELETE", path, { session: owner.session_token });
    expect(removed.body).toEqual({ deleted: true });
    const me = await other.call("GET", "/api/v1/auth/me", { session: member.session_token });
    expect(me.status).toBe(401);
    const { email } = member.user;
    const login = await node.call("POST", "/api/v1/auth/login", {
      body: { email, password: member.password },
    });
    expect(login.status).toBe(401);
    expect(await members(owner)).toHaveLength(1);
    expect((await signUp(node, email)).user.org_id).not.toBe(owner.user.org_id);
  });

  it("change no members and create no keys with a request that is in progress when they are removed", async ({
    node,
    other,
    members,
    skip,
  }) => {
    skip(citusUrl !== undefined, "the coordinator does not see lock waits of workers");
    const owner = await signUp(node);
    const [removed, friend] = [await join(node, owner, "admin"), await join(node, owner, "viewer")];
    const asRemoved = { session: removed.session_token };
    const requests = [
      () => other.call("POST", "/api/v1/keys", { ...asRemoved, body: { name: "kept" } }),
      () => other.call("POST", "/api/v1/invitations", { ...asRemoved, body: { role: "admin" } }),
      () =>
        other.call("PATCH", `/api/v1/members/${friend.user.id}`, { ...asRemoved, body: { role: "admin" } }),
      () => other.call("DELETE", `/api/v1/members/${friend.user.id}`, asRemoved),
    ];
    // The removal waits first for the organization's row, and the requests, which are authenticated by then, behind it.
    const letGo = await holdRows(node.pool, "organizations", { id: owner.user.org_id });
    onTestFinished(letGo);
    const removal = node.call("DELETE", `/api/v1/members/${removed.user.id}`, {
      session: owner.session_token,
    });
    await until(async () => (await countLockWaits(node.pool)) === 1);
    const answers = requests.map((request) => request());
    await until(async () => (await countLockWaits(node.pool)) === 1 + requests.length);
    await letGo();
    expect((await removal).status).toBe(200);
    for (const answer of answers) expect((await answer).status).toBe(401);
    expect((await members(owner)).map(({ role }) => role)).toEqual(["admin", "viewer"]);
    const { body } = await node.call("GET", "/api/v1/keys", { key: owner.api_key });
    expect(body.keys).toHaveLength(1);
  });

  it("keep an admin: the last one can be neither removed nor demoted", async ({ node }) => {
    const owner = await signUp(node);
    await join(node, owner, "member");
    const session = owner.session_token;
    const path = `/api/v1/members/${owner.user.id}`;
    const lastAdmin = { status: 409, headers: { "x-error-code": "last_admin" } };
    expect(await node.call("DELETE", path, { session })).toMatchObject(lastAdmin);
    expect(await node.call("PATCH", path, { session, body: { role: "member" } })).toMatchObject(lastAdmin);
    const second = await join(node, owner, "admin");
    expect((await node.call("DELETE", path, { session })).status).toBe(200);
    const again = await node.call("DELETE", `/api/v1/members/${second.user.id}`, {
      session: second.session_token,
    });
    expect(again).toMatchObject(lastAdmin);
  });

  it("keep an admin also when two admins demote each other simultaneously", async ({
    node,
    other,
    members,
  }) => {
    for (let round = 0; round < 5; round++) {
      const first = await signUp(node);
      const second = await join(node, first, "admin");
      const demote = (on: TestNode, session: string, id: string): Promise<Answer> =>
        on.call("PATCH", `/api/v1/members/${id}`, { session, body: { role: "viewer" } });
      const answers = await Promise.all([
        demote(node, first.session_token, second.user.id),
        demote(other, second.session_token, first.user.id),
      ]);
      expect(answers.map(({ status }) => status)).toContain(200);
      const roles = (await members(first)).map(({ role }) => role);
      expect(roles.filter((role) => role === "admin").length).toBeGreaterThanOrEqual(1);
    }
  });

  it("of another organization are not found", async ({ node }) => {
    const [owner, stranger] = [await signUp(node), await signUp(node)];
    const path = `/api/v1/members/${stranger.user.id}`;
    for (const id of [path, "/api/v1/members/x", `/api/v1/invitations/${stranger.user.id}`]) {
      expect((await node.call("DELETE", id, { session: owner.session_token })).status).toBe(404);
    }
    const changed = await node.call("PATCH", path, {
      session: owner.session_token,
      body: { role: "viewer" },
    });
    expect(changed.status).toBe(404);
  });

  it("can be changed only with a session: a leaked key adds no member", async ({ node }) => {
    const owner = await signUp(node);
    const key = owner.api_key;
    const invitation = await node.call("POST", "/api/v1/invitations", { key, body: { role: "admin" } });
    expect(invitation.status).toBe(403);
    const path = `/api/v1/members/${owner.user.id}`;
    expect((await node.call("DELETE", path, { key })).status).toBe(403);
  });
});
