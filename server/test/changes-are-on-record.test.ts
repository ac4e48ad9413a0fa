import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actions } from "../src/audit/actions.ts";
import { forgetEntries } from "../src/audit/store.ts";
import { createAgentTarget } from "./support/agentTargets.ts";
import { type CardServer, startCardServer } from "./support/cardServer.ts";
import { openApi } from "./support/contract.ts";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { join } from "./support/members.ts";
import {
  type Account,
  type Answer,
  createTestNode,
  newEmail,
  signUp,
  type TestNode,
} from "./support/testNode.ts";

let database: TestDatabase;
let node: TestNode;
let cards: CardServer;

beforeAll(async () => {
  database = await createTestDatabase();
  cards = await startCardServer();
  node = createTestNode(database, {
    POSTRIDER_ALLOW_HTTP_TARGETS: "true",
    POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8",
  });
});

afterAll(async () => {
  await node.stop();
  await cards.stop();
  await database.drop();
});

interface Entry {
  id: string;
  at: number;
  action: string;
  actor: { kind: string; id: string | null; name: string | null };
  object: { kind: string; id: string | null; name: string | null };
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  client_address: string | null;
  user_agent: string | null;
  request_id: string | null;
}

async function entries(account: Account, query = ""): Promise<Entry[]> {
  const { status, body } = await node.call("GET", `/api/v1/audit-log${query}`, { key: account.api_key });
  expect(status).toBe(200);
  return body.entries;
}

const secretUrl = "https://127.0.0.1:9/services/T0KEN-IN-PATH?signature=TOKEN-IN-QUERY";

const asKey = (method: "POST" | "PATCH" | "DELETE", path: string, body?: object) => (account: Account) =>
  node.call(method, path, { key: account.api_key, ...(body && { body }) });

const asSession = (method: "POST" | "PATCH" | "DELETE", path: string, body?: object) => (account: Account) =>
  node.call(method, path, { session: account.session_token, ...(body && { body }) });

async function webhook(account: Account): Promise<string> {
  const made = await asKey("POST", "/api/v1/targets", { kind: "webhook", name: "w", url: secretUrl })(
    account,
  );
  expect(made.status).toBe(200);
  return made.body.id;
}

interface Change {
  action: keyof typeof actions;
  /** Makes what is to be changed, and gives the change. */
  prepare: (account: Account) => Promise<() => Promise<Answer>>;
}

/** A change that needs nothing but the account. */
const plainly = (action: Change["action"], change: (account: Account) => Promise<Answer>): Change => ({
  action,
  prepare: (account) => Promise.resolve(() => change(account)),
});

const ofWebhook = (
  action: Change["action"],
  change: (account: Account, id: string) => Promise<Answer>,
): Change => ({
  action,
  prepare: async (account) => {
    const id = await webhook(account);
    return () => change(account, id);
  },
});

/** How each route changes something, and what that is called. */
const changes: Record<string, Change> = {
  "POST /api/v1/auth/login": plainly("session.started", ({ user: { email }, password }) =>
    node.call("POST", "/api/v1/auth/login", { body: { email, password } }),
  ),
  "POST /api/v1/auth/logout": plainly("session.ended", asSession("POST", "/api/v1/auth/logout")),
  "POST /api/v1/auth/logout-all": plainly("sessions.ended", asSession("POST", "/api/v1/auth/logout-all")),
  "POST /api/v1/auth/password": plainly("password.changed", ({ session_token: session, password }) =>
    node.call("POST", "/api/v1/auth/password", {
      session,
      body: { current_password: password, new_password: "another horse" },
    }),
  ),
  "POST /api/v1/keys": plainly("key.created", asSession("POST", "/api/v1/keys", { name: "worker" })),
  "DELETE /api/v1/keys/{id}": {
    action: "key.deleted",
    prepare: async (account) => {
      const { body } = await asSession("POST", "/api/v1/keys", { name: "worker" })(account);
      return () => asKey("DELETE", `/api/v1/keys/${body.id}`)(account);
    },
  },
  "POST /api/v1/targets": plainly(
    "target.created",
    asKey("POST", "/api/v1/targets", { kind: "webhook", name: "w", url: secretUrl }),
  ),
  "PATCH /api/v1/targets/{id}": ofWebhook("target.updated", (account, id) =>
    asSession("PATCH", `/api/v1/targets/${id}`, { url: `${secretUrl}2`, name: "v" })(account),
  ),
  "DELETE /api/v1/targets/{id}": ofWebhook("target.deleted", (account, id) =>
    asKey("DELETE", `/api/v1/targets/${id}`)(account),
  ),
  "POST /api/v1/targets/{id}/refresh": {
    action: "target.card_replaced",
    prepare: async (account) => {
      const id = await createAgentTarget(node, account, cards.url, {
        auth: { type: "bearer", token: "BEARER-OF-AN-AGENT" },
      });
      return () => asKey("POST", `/api/v1/targets/${id}/refresh`)(account);
    },
  },
  "POST /api/v1/targets/{id}/signing-secret/rotate": ofWebhook("target.secret_rotated", (account, id) =>
    asKey("POST", `/api/v1/targets/${id}/signing-secret/rotate`)(account),
  ),
  "DELETE /api/v1/targets/{id}/signing-secret/previous": {
    action: "target.previous_secret_deleted",
    prepare: async (account) => {
      const id = await webhook(account);
      await asKey("POST", `/api/v1/targets/${id}/signing-secret/rotate`)(account);
      return () => asKey("DELETE", `/api/v1/targets/${id}/signing-secret/previous`)(account);
    },
  },
  "POST /api/v1/endpoints": plainly(
    "target.created",
    asKey("POST", "/api/v1/endpoints", { name: "e", url: secretUrl }),
  ),
  "PATCH /api/v1/endpoints/{id}": ofWebhook("target.updated", (account, id) =>
    asKey("PATCH", `/api/v1/endpoints/${id}`, { enabled: false })(account),
  ),
  "DELETE /api/v1/endpoints/{id}": ofWebhook("target.deleted", (account, id) =>
    asKey("DELETE", `/api/v1/endpoints/${id}`)(account),
  ),
  "PATCH /api/v1/orgs": plainly("organization.renamed", asKey("PATCH", "/api/v1/orgs", { name: "new" })),
  "PATCH /api/v1/members/{id}": {
    action: "member.role_changed",
    prepare: async (account) => {
      const { user } = await join(node, account, "viewer");
      return () => asSession("PATCH", `/api/v1/members/${user.id}`, { role: "member" })(account);
    },
  },
  "DELETE /api/v1/members/{id}": {
    action: "member.removed",
    prepare: async (account) => {
      const { user } = await join(node, account, "viewer");
      return () => asSession("DELETE", `/api/v1/members/${user.id}`)(account);
    },
  },
  "POST /api/v1/invitations": plainly(
    "invitation.created",
    asSession("POST", "/api/v1/invitations", { role: "member", email: "grace@example.com" }),
  ),
  "DELETE /api/v1/invitations/{id}": {
    action: "invitation.revoked",
    prepare: async (account) => {
      const { body } = await asSession("POST", "/api/v1/invitations", { role: "member" })(account);
      return () => asSession("DELETE", `/api/v1/invitations/${body.id}`)(account);
    },
  },
  "POST /api/v1/invitations/accept": {
    action: "member.joined",
    prepare: async (account) => {
      const { body } = await asSession("POST", "/api/v1/invitations", { role: "member" })(account);
      const accepted = { token: body.token, email: newEmail(), password: "correct horse" };
      return () => node.call("POST", "/api/v1/invitations/accept", { body: accepted });
    },
  },
};

const isAnItem = "an item, which is on record by itself";
const isAClaim = "a message's life is kept with the message, by the key that holds it";

/** Routes that change nothing of the configuration, credentials or billing state, each with its reason. */
const exceptions: Record<string, string> = {
  "POST /api/v1/auth/signup": "makes the organization that its entry belongs to: tested below",
  "POST /t/{target_id}": isAnItem,
  "POST /e/{endpoint_id}": isAnItem,
  "POST /api/v1/events/{id}/replay": isAnItem,
  "POST /api/v1/events/{id}/handoff/message": "a word to an agent, kept with the handoff",
  "POST /api/v1/events/{id}/handoff/cancel": "a word to an agent, kept with the handoff",
  "POST /a2a/notifications/{token}": "an agent's hint that a task has changed",
  "POST /api/v1/mailbox-messages/{message_id}/claim": isAClaim,
  "POST /api/v1/mailbox-messages/{message_id}/ack": isAClaim,
  "POST /api/v1/mailboxes/{mailbox_id}/claim": isAClaim,
  "POST /api/v1/mailboxes/{mailbox_id}/ack": isAClaim,
  "POST /api/v1/mailboxes/{mailbox_id}/extend": isAClaim,
  "POST /api/v1/mailboxes/{mailbox_id}/release": isAClaim,
  "POST /api/v1/mailboxes/{mailbox_id}/reject": isAClaim,
  "POST /api/v1/mailboxes/{mailbox_id}/redrive":
    "dead messages become claimable again, and stay what they are",
  "POST /api/v1/billing/checkout":
    "opens a page at the payment processor; what comes of it is on record as billing.state_changed",
  "POST /api/v1/billing/webhook":
    "a notice of the processor; what follows is on record as billing.state_changed",
};

describe("every route that changes something", () => {
  it("is on record, or an exception with a reason", () => {
    const changing = Object.entries(openApi.paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => method !== "get")
        .map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect([...Object.keys(changes), ...Object.keys(exceptions)].toSorted()).toEqual(changing.toSorted());
  });

  it.each(Object.entries(changes))("%s is on record once", async (_route, { action, prepare }) => {
    const account = await signUp(node);
    const change = await prepare(account);
    const before = await entries(account);
    expect((await change()).status).toBe(200);
    const after = await entries(account);
    expect(after.slice(0, after.length - before.length).map((entry) => entry.action)).toEqual([action]);
  });

  it.each(Object.entries(changes))(
    "%s is not done when it cannot be put on record",
    async (_route, { prepare }) => {
      const account = await signUp(node);
      const orgId = account.user.org_id;
      const change = await prepare(account);
      const before = await contents(orgId);
      await refuseEntries(orgId);
      expect((await change()).status).toBe(503);
      expect(await contents(orgId)).toEqual(before);
    },
  );

  /** Lets every entry of an organization fail, as a full disk would. */
  async function refuseEntries(orgId: string): Promise<void> {
    await node.pool.query(`
      create or replace function public.refuse_entry() returns trigger language plpgsql as $$
      begin
        raise exception 'planted' using errcode = '53100';
      end $$;
      create or replace trigger "refuse_${orgId}" before insert on audit_log
        for each row when (new.org_id = '${orgId}') execute function public.refuse_entry()`);
  }

  /** Everything of the control plane that belongs to an organization. */
  async function contents(orgId: string): Promise<unknown> {
    const tables = {
      organizations: "id = $1",
      users: "org_id = $1",
      sessions: "user_id in (select id from users where org_id = $1)",
      api_keys: "org_id = $1",
      targets: "org_id = $1",
      agent_cards: "target_id in (select id from targets where org_id = $1)",
      invitations: "org_id = $1",
    };
    const parts = await Promise.all(
      Object.entries(tables).map(async ([table, condition]) => {
        const { rows } = await node.pool.query(
          `select to_jsonb(t) - 'last_used_at' as row
           from ${table} t
           where ${condition}
           order by 1`,
          [orgId],
        );
        return [table, rows];
      }),
    );
    return Object.fromEntries(parts);
  }

  it("leaves no secret in the log", async () => {
    const account = await signUp(node);
    const secrets = new Set(["T0KEN-IN-PATH", "TOKEN-IN-QUERY", "BEARER-OF-AN-AGENT", "another horse"]);
    for (const { prepare } of Object.values(changes)) {
      // Each with an account of its own: some end the credentials that they are called with.
      const fresh = await signUp(node);
      for (const one of [fresh.api_key, fresh.session_token, fresh.password]) secrets.add(one);
      const { body } = await (await prepare(fresh))();
      for (const name of ["key", "secret", "token", "session_token"]) {
        if (typeof body[name] === "string") secrets.add(body[name]);
      }
    }
    await node.call("POST", "/api/v1/auth/login", {
      body: { email: account.password, password: account.password },
    });
    await node.call("POST", "/api/v1/auth/login", {
      body: { email: account.user.email, password: "a wrong password" },
    });
    secrets.add("a wrong password").add(account.password);
    const { rows } = await node.pool.query<{ text: string }>(
      "select to_jsonb(a)::text as text from audit_log a",
    );
    const log = rows.map(({ text }) => text).join("\n");
    expect(log.length).toBeGreaterThan(1_000);
    const found = [...secrets].filter((secret) =>
      log.includes(secret.replace(/^(ak_live|ses|inv|whsec)_/, "")),
    );
    expect(found).toEqual([]);
  });
});

describe("an entry", () => {
  it("says who, what, from where and when", async () => {
    const account = await signUp(node);
    const id = await webhook(account);
    const changed = await node.call("PATCH", `/api/v1/targets/${id}`, {
      session: account.session_token,
      body: { name: "renamed", url: "https://127.0.0.1:9/other", max_retries: 8 },
      headers: { "user-agent": `browser ${"x".repeat(300)}` },
      from: "203.0.113.77",
    });
    const [entry] = await entries(account);
    expect(entry).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      at: expect.any(Number),
      action: "target.updated",
      actor: { kind: "user", id: account.user.id, name: account.user.email },
      object: { kind: "target", id, name: "renamed" },
      before: {
        name: "w",
        url: expect.stringMatching(/^https:\/\/127\.0\.0\.1:9\/… \(sha256 [0-9a-f]{12}\)$/),
      },
      after: {
        name: "renamed",
        url: expect.stringMatching(/^https:\/\/127\.0\.0\.1:9\/… \(sha256 [0-9a-f]{12}\)$/),
      },
      client_address: "203.0.113.77",
      user_agent: `browser ${"x".repeat(192)}`,
      request_id: changed.headers["x-request-id"],
    });
    expect(entry!.before!["url"]).not.toBe(entry!.after!["url"]);
    expect(Math.abs(entry!.at - Date.now() / 1000)).toBeLessThan(120);
  });

  it("of a key names the key, also when the key is gone", async () => {
    const account = await signUp(node);
    const { body } = await node.call("POST", "/api/v1/keys", {
      session: account.session_token,
      body: { name: "deployer" },
    });
    await node.call("PATCH", "/api/v1/orgs", { key: body.key, body: { name: "by key" } });
    await node.call("DELETE", `/api/v1/keys/${body.id}`, { key: account.api_key });
    const [deleted, renamed] = await entries(account);
    expect(renamed!.actor).toEqual({ kind: "key", id: body.id, name: "deployer" });
    expect(deleted).toMatchObject({
      actor: { kind: "key", name: "default" },
      object: { kind: "key", id: body.id, name: "deployer" },
    });
  });

  it("of a signup is the organization's first", async () => {
    const account = await signUp(node);
    expect(await entries(account)).toMatchObject([
      {
        action: "organization.created",
        actor: { kind: "user", id: account.user.id, name: account.user.email },
        object: { kind: "organization", id: account.user.org_id },
      },
    ]);
  });

  it("of a refused login stands with the account, and without one with nobody", async () => {
    const account = await signUp(node);
    const logIn = (email: string): Promise<Answer> =>
      node.call("POST", "/api/v1/auth/login", {
        body: { email, password: "wrong horse" },
        from: "203.0.113.78",
      });
    expect((await logIn(account.user.email)).status).toBe(401);
    expect((await logIn("typed-the-password-here")).status).toBe(401);
    expect((await entries(account))[0]).toMatchObject({
      action: "session.refused",
      actor: { kind: "unknown", id: null, name: null },
      object: { kind: "user", id: account.user.id, name: account.user.email },
      client_address: "203.0.113.78",
    });
    const { rows } = await node.pool.query(
      `select org_id, object_id, object_name, before, after
       from audit_log
       where client_address = '203.0.113.78'
         and org_id is null`,
    );
    expect(rows).toEqual([{ org_id: null, object_id: null, object_name: null, before: null, after: null }]);
  });

  it("of a refused change of the password is kept", async () => {
    const account = await signUp(node);
    await node.call("POST", "/api/v1/auth/password", {
      session: account.session_token,
      body: { current_password: "wrong horse", new_password: "another horse" },
    });
    expect((await entries(account))[0]).toMatchObject({ action: "password.change_refused" });
  });

  it("is not written for what changes nothing", async () => {
    const account = await signUp(node);
    const id = await webhook(account);
    const before = await entries(account);
    const key = account.api_key;
    await node.call("DELETE", `/api/v1/targets/${id}/signing-secret/previous`, { key });
    await node.call("PATCH", `/api/v1/targets/${id}`, { key, body: { name: "w", enabled: true } });
    await node.call("PATCH", "/api/v1/orgs", { key, body: { name: account.user.name } });
    await node.call("PATCH", `/api/v1/members/${account.user.id}`, {
      session: account.session_token,
      body: { role: "admin" },
    });
    await node.call("POST", "/api/v1/targets", { key, body: { kind: "webhook", name: "w", url: "nowhere" } });
    expect(await entries(account)).toEqual(before);
  });
});

describe("the log", () => {
  it("is read newest first, page by page, and by action, actor, object and time", async () => {
    const account = await signUp(node);
    const [first, second] = [await webhook(account), await webhook(account)];
    for (const name of ["a", "b", "c"]) {
      await asSession("PATCH", `/api/v1/targets/${first}`, { name })(account);
    }
    const all = await entries(account);
    expect(all).toHaveLength(6);
    const paged: Entry[] = [];
    for (let page = await entries(account, "?limit=4"); page.length > 0;) {
      paged.push(...page);
      page = await entries(account, `?limit=4&before=${paged.at(-1)!.id}`);
    }
    expect(paged).toEqual(all);
    expect(all.map(({ id }) => id)).toEqual(
      all
        .map(({ id }) => id)
        .toSorted()
        .toReversed(),
    );

    const names = (list: Entry[]): string[] => list.map(({ action }) => action);
    expect(names(await entries(account, "?action=target.created"))).toEqual(Array(2).fill("target.created"));
    expect(await entries(account, `?object_id=${second}`)).toHaveLength(1);
    expect(await entries(account, `?object_id=${first}&action=target.updated`)).toHaveLength(3);
    expect(await entries(account, `?actor_id=${account.user.id}`)).toHaveLength(4);
    const now = all[0]!.at;
    expect(await entries(account, `?created_after=${now - 60}&created_before=${now + 60}`)).toEqual(all);
    expect(await entries(account, `?created_after=${now + 60}`)).toEqual([]);
    expect(await entries(account, `?created_before=${now - 60}`)).toEqual([]);
    expect(await entries(account, "?actor_id=nobody")).toEqual([]);
  });

  it("refuses a filter that can match nothing", async () => {
    const account = await signUp(node);
    for (const query of ["?action=target.painted", "?actions=key.created", "?limit=0", "?created_after=x"]) {
      const { status } = await node.call("GET", `/api/v1/audit-log${query}`, { key: account.api_key });
      expect({ query, status }).toEqual({ query, status: 400 });
    }
  });

  it("shows an organization its own entries alone", async () => {
    const [account, stranger] = [await signUp(node), await signUp(node)];
    const id = await webhook(stranger);
    expect(await entries(account, `?object_id=${id}`)).toEqual([]);
    expect(await entries(account, `?before=${(await entries(stranger))[0]!.id}`)).toHaveLength(1);
  });

  it("forgets what is past its retention, and nothing else", async () => {
    const account = await signUp(node);
    const before = await entries(account);
    expect(await forgetEntries(node.pool, { retentionDays: 365, nowMs: Date.now() })).toBe(0);
    expect(await entries(account)).toEqual(before);
    const afterwards = Date.now() + 366 * 86_400_000;
    expect(await forgetEntries(node.pool, { retentionDays: 365, nowMs: afterwards })).toBeGreaterThan(0);
    expect(await entries(account)).toEqual([]);
  });
});
