import { describe, expect } from "vitest";
import { startReset } from "../src/accounts/resetStore.ts";
import type { actions } from "../src/audit/actions.ts";
import { inTransaction } from "../src/postgres/pool.ts";
import { createAgentTarget } from "./support/agentTargets.ts";
import { createSecretWebhook, entries, secretUrl } from "./support/auditLog.ts";
import type { CardServer } from "./support/cardServer.ts";
import { openApi } from "./support/contract.ts";
import { join } from "./support/members.ts";
import { enterPortal } from "./support/portal.ts";
import { type Account, type Answer, newEmail, signUp, type TestNode } from "./support/testNode.ts";
import { nodeTest, loopbackTargets } from "./support/fixtures.ts";

/** The service under test, and the server of agents' cards. */
let node: TestNode;
let cards: CardServer;

const it = nodeTest(loopbackTargets);

it.beforeEach(({ node: one, cards: own }) => {
  [node, cards] = [one, own];
});

const asKey = (method: "POST" | "PATCH" | "DELETE", path: string, body?: object) => (account: Account) =>
  node.call(method, path, { key: account.api_key, ...(body && { body }) });

const asSession =
  (method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: object) => (account: Account) =>
    node.call(method, path, { session: account.session_token, ...(body && { body }) });

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
    const id = await createSecretWebhook(node, account);
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
  "POST /api/v1/auth/password-reset/confirm": {
    action: "password.reset",
    prepare: async ({ user }) => {
      const token = await inTransaction(node.pool, (client) => startReset(client, user.id));
      const body = { token, password: "another horse" };
      return () => node.call("POST", "/api/v1/auth/password-reset/confirm", { body });
    },
  },
  "POST /api/v1/keys": plainly("key.created", asSession("POST", "/api/v1/keys", { name: "worker" })),
  "DELETE /api/v1/keys/{id}": {
    action: "key.deleted",
    prepare: async (account) => {
      const { body } = await asSession("POST", "/api/v1/keys", { name: "worker" })(account);
      return () => asKey("DELETE", `/api/v1/keys/${body.id}`)(account);
    },
  },
  "PUT /api/v1/customers/{uid}": plainly(
    "customer.created",
    asSession("PUT", "/api/v1/customers/shop-7", { name: "Shop", metadata: { plan: "gold" } }),
  ),
  "DELETE /api/v1/customers/{uid}": {
    action: "customer.deleted",
    prepare: async (account) => {
      await asSession("PUT", "/api/v1/customers/shop-7", {})(account);
      return () => asKey("DELETE", "/api/v1/customers/shop-7")(account);
    },
  },
  "PUT /api/v1/event-types/{name}": plainly(
    "event_type.created",
    asSession("PUT", "/api/v1/event-types/order.paid", { description: "Paid", schema: { type: "object" } }),
  ),
  "DELETE /api/v1/event-types/{name}": {
    action: "event_type.deleted",
    prepare: async (account) => {
      await asSession("PUT", "/api/v1/event-types/order.paid", {})(account);
      return () => asKey("DELETE", "/api/v1/event-types/order.paid")(account);
    },
  },
  "POST /api/v1/event-types/import": plainly(
    "event_type.created",
    asKey("POST", "/api/v1/event-types/import", { openapi: "3.1.0", webhooks: { "order.paid": {} } }),
  ),
  "POST /api/v1/customers/{uid}/portal-links": {
    action: "portal_link.created",
    prepare: async (account) => {
      await asSession("PUT", "/api/v1/customers/shop-7", {})(account);
      return () => asKey("POST", "/api/v1/customers/shop-7/portal-links")(account);
    },
  },
  "DELETE /api/v1/customers/{uid}/portal-sessions": {
    action: "portal_sessions.ended",
    prepare: async (account) => {
      await asSession("PUT", "/api/v1/customers/shop-7", {})(account);
      await enterPortal(node, account.api_key, "shop-7");
      return () => asKey("DELETE", "/api/v1/customers/shop-7/portal-sessions")(account);
    },
  },
  "POST /api/v1/portal/sessions": {
    action: "portal_session.started",
    prepare: async (account) => {
      await asSession("PUT", "/api/v1/customers/shop-7", {})(account);
      const { body } = await asKey("POST", "/api/v1/customers/shop-7/portal-links")(account);
      const code = body.url.split("#code=")[1];
      return () => node.call("POST", "/api/v1/portal/sessions", { body: { code } });
    },
  },
  "DELETE /api/v1/portal/session": {
    action: "portal_session.ended",
    prepare: async (account) => {
      await asSession("PUT", "/api/v1/customers/shop-7", {})(account);
      const session = await enterPortal(node, account.api_key, "shop-7");
      return () => node.call("DELETE", "/api/v1/portal/session", { session });
    },
  },
  "PUT /api/v1/portal-settings": plainly(
    "portal_settings.saved",
    asSession("PUT", "/api/v1/portal-settings", {
      name: "Shop",
      logo: null,
      colour: "#0b6e4f",
      origins: ["https://app.example.com"],
    }),
  ),
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
      const id = await createSecretWebhook(node, account);
      await asKey("POST", `/api/v1/targets/${id}/signing-secret/rotate`)(account);
      return () => asKey("DELETE", `/api/v1/targets/${id}/signing-secret/previous`)(account);
    },
  },
  "POST /api/v1/targets/{id}/signing-secret/reveal": {
    action: "target.secret_revealed",
    prepare: async (account) => {
      const id = await createSecretWebhook(node, account);
      await asSession("PATCH", "/api/v1/orgs", { secrets_can_be_revealed: true })(account);
      return () => asSession("POST", `/api/v1/targets/${id}/signing-secret/reveal`)(account);
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
  "POST /api/v1/notification-targets": {
    action: "notification_target.saved",
    prepare: async (account) => {
      const id = await createSecretWebhook(node, account);
      return () => asKey("POST", "/api/v1/notification-targets", { target_id: id })(account);
    },
  },
  "DELETE /api/v1/notification-targets/{id}": {
    action: "notification_target.removed",
    prepare: async (account) => {
      const target_id = await createSecretWebhook(node, account);
      const { body } = await asKey("POST", "/api/v1/notification-targets", { target_id })(account);
      return () => asKey("DELETE", `/api/v1/notification-targets/${body.id}`)(account);
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

/** Further changes of routes that are listed above. */
const otherChanges: Record<string, Change> = {
  "PATCH /api/v1/orgs, whether secrets can be revealed,": plainly(
    "organization.revealing_changed",
    asSession("PATCH", "/api/v1/orgs", { secrets_can_be_revealed: true }),
  ),
};

const everyChange = { ...changes, ...otherChanges };

const isAnItem = "an item, which is on record by itself";
const isAClaim = "a message's life is kept with the message, by the key that holds it";

/** Routes that change nothing of the configuration, credentials or billing state, each with its reason. */
const exceptions: Record<string, string> = {
  "POST /api/v1/auth/signup": "makes the organization that its entry belongs to: tested below",
  "POST /api/v1/auth/password-reset":
    "answers before it looks anything up; the mail is on record when it is made: forgotten-passwords-are-reset-by-mail",
  "POST /mcp": "tools, whose requests to the interface are on record each by itself",
  "POST /t/{target_id}": isAnItem,
  "POST /e/{endpoint_id}": isAnItem,
  "POST /p/{customer}": isAnItem,
  "POST /p": isAnItem,
  "POST /api/v1/publications/{id}/replay": isAnItem,
  "POST /api/v1/events/{id}/replay": isAnItem,
  "POST /api/v1/events/{id}/cancel": "an item's end, which is on record with the item",
  "POST /api/v1/events/{id}/erase": "an erasure, which keeps who asked for it and what it did",
  "POST /api/v1/erasures": "an erasure, which keeps who asked for it and what it did",
  "POST /api/v1/mailboxes/{mailbox_id}/messages/{message_id}/force-release":
    "an intervention, which the message keeps with who did it",
  "POST /api/v1/mailboxes/{mailbox_id}/messages/{message_id}/force-reject":
    "an intervention, which the message keeps with who did it",
  "POST /api/v1/replays": "a job, which keeps who started it and what it did",
  "POST /api/v1/replays/{id}/cancel": "a job's end, which is on record with the job",
  "POST /api/v1/filters/try": "says what a filter would do, and changes nothing",
  "POST /api/v1/targets/{id}/test": "a request to a receiver, of which nothing stays",
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

  it.each(Object.entries(everyChange))("%s is on record once", async (_route, { action, prepare }) => {
    const account = await signUp(node);
    const change = await prepare(account);
    const before = await entries(node, account);
    expect((await change()).status).toBe(200);
    const after = await entries(node, account);
    expect(after.slice(0, after.length - before.length).map((entry) => entry.action)).toEqual([action]);
  });

  it.each(Object.entries(everyChange))(
    "%s is not done when it cannot be put on record",
    async (_route, { prepare }) => {
      const account = await signUp(node);
      const orgId = account.user.org_id;
      const change = await prepare(account);
      const before = await contents(orgId);
      await refuseEntries(orgId);
      const { status, body } = await change();
      expect({ status, body }).toEqual({ status: 503, body: { error: expect.any(String) } });
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
      password_resets: "user_id in (select id from users where org_id = $1)",
      api_keys: "org_id = $1",
      targets: "org_id = $1",
      agent_cards: "target_id in (select id from targets where org_id = $1)",
      invitations: "org_id = $1",
      notification_targets: "org_id = $1",
      event_types: "org_id = $1",
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
    for (const { prepare } of Object.values(everyChange)) {
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
