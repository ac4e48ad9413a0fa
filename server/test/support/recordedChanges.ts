import { expect } from "vitest";
import { startReset } from "../../src/accounts/resetStore.ts";
import type { Action } from "../../src/http/contract/auditActions.ts";
import { inTransaction } from "../../src/postgres/pool.ts";
import { createAgentTarget } from "./agentTargets.ts";
import { createSecretWebhook, secretUrl } from "./auditLog.ts";
import type { CardServer } from "./cardServer.ts";
import { join } from "./members.ts";
import { enterPortal } from "./portal.ts";
import { type Account, type Answer, newEmail, type TestNode } from "./testNode.ts";

/** The service under test, and the server of agents' cards. */
export const on = {} as { node: TestNode; cards: CardServer };

const asKey =
  (method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: object) => (account: Account) =>
    on.node.call(method, path, { key: account.api_key, ...(body && { body }) });

const asSession =
  (method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: object) => (account: Account) =>
    on.node.call(method, path, { session: account.session_token, ...(body && { body }) });

export interface Change {
  /** The route's operation id. */
  operation: string;
  action: Action;
  /** Creates the thing to change, and returns the change. */
  prepare: (account: Account) => Promise<() => Promise<Answer>>;
}

/** A change that needs only the account. */
const plainly = (
  operation: string,
  action: Action,
  change: (account: Account) => Promise<Answer>,
): Change => ({
  operation,
  action,
  prepare: (account) => Promise.resolve(() => change(account)),
});

const ofWebhook = (
  operation: string,
  action: Action,
  change: (account: Account, id: string) => Promise<Answer>,
): Change => ({
  operation,
  action,
  prepare: async (account) => {
    const id = await createSecretWebhook(on.node, account);
    return () => change(account, id);
  },
});

/** A change of the thing that `first` creates. */
const following = (
  [operation, action]: [string, Action],
  first: (account: Account) => Promise<Answer>,
  change: (account: Account) => Promise<Answer>,
): Change => ({
  operation,
  action,
  prepare: async (account) => {
    expect((await first(account)).status).toBe(200);
    return () => change(account);
  },
});

/** A change by each route whose record names an action of the audit log. */
export const changes: readonly Change[] = [
  plainly("logIn", "session.started", ({ user: { email }, password }) =>
    on.node.call("POST", "/api/v1/auth/login", { body: { email, password } }),
  ),
  plainly("logOut", "session.ended", asSession("POST", "/api/v1/auth/logout")),
  plainly("logOutAll", "sessions.ended", asSession("POST", "/api/v1/auth/logout-all")),
  plainly("changePassword", "password.changed", ({ session_token: session, password }) =>
    on.node.call("POST", "/api/v1/auth/password", {
      session,
      body: { current_password: password, new_password: "another horse" },
    }),
  ),
  {
    operation: "confirmPasswordReset",
    action: "password.reset",
    prepare: async ({ user }) => {
      const token = await inTransaction(on.node.pool, (client) => startReset(client, user.id));
      const body = { token, password: "another horse" };
      return () => on.node.call("POST", "/api/v1/auth/password-reset/confirm", { body });
    },
  },
  plainly("createKey", "key.created", asSession("POST", "/api/v1/keys", { name: "worker" })),
  {
    operation: "deleteKey",
    action: "key.deleted",
    prepare: async (account) => {
      const { body } = await asSession("POST", "/api/v1/keys", { name: "worker" })(account);
      return () => asKey("DELETE", `/api/v1/keys/${body.id}`)(account);
    },
  },
  plainly(
    "putCustomer",
    "customer.created",
    asSession("PUT", "/api/v1/customers/shop-7", { name: "Shop", metadata: { plan: "gold" } }),
  ),
  following(
    ["deleteCustomer", "customer.deleted"],
    asSession("PUT", "/api/v1/customers/shop-7", {}),
    asKey("DELETE", "/api/v1/customers/shop-7"),
  ),
  plainly(
    "putEventType",
    "event_type.created",
    asSession("PUT", "/api/v1/event-types/order.paid", { description: "Paid", schema: { type: "object" } }),
  ),
  following(
    ["deleteEventType", "event_type.deleted"],
    asSession("PUT", "/api/v1/event-types/order.paid", {}),
    asKey("DELETE", "/api/v1/event-types/order.paid"),
  ),
  plainly(
    "importEventTypes",
    "event_type.created",
    asKey("POST", "/api/v1/event-types/import", { openapi: "3.1.0", webhooks: { "order.paid": {} } }),
  ),
  following(
    ["createPortalLink", "portal_link.created"],
    asSession("PUT", "/api/v1/customers/shop-7", {}),
    asKey("POST", "/api/v1/customers/shop-7/portal-links"),
  ),
  {
    operation: "endPortalSessions",
    action: "portal_sessions.ended",
    prepare: async (account) => {
      await asSession("PUT", "/api/v1/customers/shop-7", {})(account);
      await enterPortal(on.node, account.api_key, "shop-7");
      return () => asKey("DELETE", "/api/v1/customers/shop-7/portal-sessions")(account);
    },
  },
  {
    operation: "openPortalSession",
    action: "portal_session.started",
    prepare: async (account) => {
      await asSession("PUT", "/api/v1/customers/shop-7", {})(account);
      const { body } = await asKey("POST", "/api/v1/customers/shop-7/portal-links")(account);
      const code = body.url.split("#code=")[1];
      return () => on.node.call("POST", "/api/v1/portal/sessions", { body: { code } });
    },
  },
  {
    operation: "leavePortal",
    action: "portal_session.ended",
    prepare: async (account) => {
      await asSession("PUT", "/api/v1/customers/shop-7", {})(account);
      const session = await enterPortal(on.node, account.api_key, "shop-7");
      return () => on.node.call("DELETE", "/api/v1/portal/session", { session });
    },
  },
  plainly(
    "savePortalSettings",
    "portal_settings.saved",
    asSession("PUT", "/api/v1/portal-settings", {
      name: "Shop",
      logo: null,
      colour: "#0b6e4f",
      origins: ["https://app.example.com"],
    }),
  ),
  plainly(
    "createTarget",
    "target.created",
    asKey("POST", "/api/v1/targets", { kind: "webhook", name: "w", url: secretUrl }),
  ),
  ofWebhook("updateTarget", "target.updated", (account, id) =>
    asSession("PATCH", `/api/v1/targets/${id}`, { url: `${secretUrl}2`, name: "v" })(account),
  ),
  ofWebhook("deleteTarget", "target.deleted", (account, id) =>
    asKey("DELETE", `/api/v1/targets/${id}`)(account),
  ),
  {
    operation: "refreshTarget",
    action: "target.card_replaced",
    prepare: async (account) => {
      const id = await createAgentTarget(on.node, account, on.cards.url, {
        auth: { type: "bearer", token: "BEARER-OF-AN-AGENT" },
      });
      return () => asKey("POST", `/api/v1/targets/${id}/refresh`)(account);
    },
  },
  ofWebhook("rotateSigningSecret", "target.secret_rotated", (account, id) =>
    asKey("POST", `/api/v1/targets/${id}/signing-secret/rotate`)(account),
  ),
  {
    operation: "deletePreviousSigningSecret",
    action: "target.previous_secret_deleted",
    prepare: async (account) => {
      const id = await createSecretWebhook(on.node, account);
      await asKey("POST", `/api/v1/targets/${id}/signing-secret/rotate`)(account);
      return () => asKey("DELETE", `/api/v1/targets/${id}/signing-secret/previous`)(account);
    },
  },
  {
    operation: "revealSigningSecret",
    action: "target.secret_revealed",
    prepare: async (account) => {
      const id = await createSecretWebhook(on.node, account);
      await asSession("PATCH", "/api/v1/orgs", { secrets_can_be_revealed: true })(account);
      return () => asSession("POST", `/api/v1/targets/${id}/signing-secret/reveal`)(account);
    },
  },
  plainly(
    "createEndpoint",
    "target.created",
    asKey("POST", "/api/v1/endpoints", { name: "e", url: secretUrl }),
  ),
  ofWebhook("updateEndpoint", "target.updated", (account, id) =>
    asKey("PATCH", `/api/v1/endpoints/${id}`, { enabled: false })(account),
  ),
  ofWebhook("deleteEndpoint", "target.deleted", (account, id) =>
    asKey("DELETE", `/api/v1/endpoints/${id}`)(account),
  ),
  plainly("renameOrganization", "organization.renamed", asKey("PATCH", "/api/v1/orgs", { name: "new" })),
  {
    operation: "changeRole",
    action: "member.role_changed",
    prepare: async (account) => {
      const { user } = await join(on.node, account, "viewer");
      return () => asSession("PATCH", `/api/v1/members/${user.id}`, { role: "member" })(account);
    },
  },
  {
    operation: "removeMember",
    action: "member.removed",
    prepare: async (account) => {
      const { user } = await join(on.node, account, "viewer");
      return () => asSession("DELETE", `/api/v1/members/${user.id}`)(account);
    },
  },
  plainly(
    "createInvitation",
    "invitation.created",
    asSession("POST", "/api/v1/invitations", { role: "member", email: "grace@example.com" }),
  ),
  {
    operation: "revokeInvitation",
    action: "invitation.revoked",
    prepare: async (account) => {
      const { body } = await asSession("POST", "/api/v1/invitations", { role: "member" })(account);
      return () => asSession("DELETE", `/api/v1/invitations/${body.id}`)(account);
    },
  },
  {
    operation: "saveNotificationTarget",
    action: "notification_target.saved",
    prepare: async (account) => {
      const id = await createSecretWebhook(on.node, account);
      return () => asKey("POST", "/api/v1/notification-targets", { target_id: id })(account);
    },
  },
  {
    operation: "removeNotificationTarget",
    action: "notification_target.removed",
    prepare: async (account) => {
      const target_id = await createSecretWebhook(on.node, account);
      const { body } = await asKey("POST", "/api/v1/notification-targets", { target_id })(account);
      return () => asKey("DELETE", `/api/v1/notification-targets/${body.id}`)(account);
    },
  },
  {
    operation: "acceptInvitation",
    action: "member.joined",
    prepare: async (account) => {
      const { body } = await asSession("POST", "/api/v1/invitations", { role: "member" })(account);
      const accepted = { token: body.token, email: newEmail(), password: "correct horse" };
      return () => on.node.call("POST", "/api/v1/invitations/accept", { body: accepted });
    },
  },
  plainly(
    "renameOrganization",
    "organization.revealing_changed",
    asSession("PATCH", "/api/v1/orgs", { secrets_can_be_revealed: true }),
  ),
  following(
    ["putCustomer", "customer.updated"],
    asSession("PUT", "/api/v1/customers/shop-7", { name: "Shop" }),
    asKey("PUT", "/api/v1/customers/shop-7", { name: "Other shop" }),
  ),
  following(
    ["putEventType", "event_type.updated"],
    asSession("PUT", "/api/v1/event-types/order.paid", { description: "Paid" }),
    asKey("PUT", "/api/v1/event-types/order.paid", { description: "Paid in full" }),
  ),
  {
    operation: "importEventTypes",
    action: "event_type.updated",
    prepare: async (account) => {
      await asSession("PUT", "/api/v1/event-types/order.paid", { description: "Paid" })(account);
      return () =>
        asKey("POST", "/api/v1/event-types/import", { openapi: "3.1.0", webhooks: { "order.paid": {} } })(
          account,
        );
    },
  },
];
