import type { RouteRow } from "./contract/routeTable.ts";
import type { ScopeRule } from "./contract/scope.ts";

/** What every key may ask about itself. */
const everyKey: ScopeRule = { takes: ["send", "read", "consume", "customer"], names: "own" };

const reading: ScopeRule = { takes: ["read"] };

/** What a customer's programs and its portal both see, and what only its programs do. */
const seen = (names: ScopeRule["names"]): ScopeRule => ({ takes: ["read", "customer", "portal"], names });
const changed = (names: ScopeRule["names"]): ScopeRule => ({ takes: ["customer", "portal"], names });

/** What is done with claims, which take a key. */
const consumed = (names: ScopeRule["names"]): ScopeRule => ({ takes: ["consume", "customer"], names });
const looked = (names: ScopeRule["names"]): ScopeRule => ({ takes: ["read", "consume", "customer"], names });

/** Which routes take credentials that are limited. One that is not here refuses them all. */
const rules: Readonly<Record<string, ScopeRule>> = {
  "GET /api/v1/auth/me": everyKey,
  // Its tools call the interface with the same key, and are judged there.
  "POST /mcp": everyKey,

  "POST /t/:target_id": { takes: ["send", "customer"], names: "target" },
  "POST /e/:endpoint_id": { takes: ["send", "customer"], names: "target" },
  "POST /p/:customer": { takes: ["send", "customer"], names: "customer" },
  "POST /p": { takes: ["send"] },

  "POST /api/v1/mailboxes/:mailbox_id/claim": consumed("target"),
  "POST /api/v1/mailboxes/:mailbox_id/ack": consumed("target"),
  "POST /api/v1/mailboxes/:mailbox_id/extend": consumed("target"),
  "POST /api/v1/mailboxes/:mailbox_id/release": consumed("target"),
  "POST /api/v1/mailboxes/:mailbox_id/reject": consumed("target"),
  "POST /api/v1/mailbox-messages/:message_id/claim": consumed("event"),
  "POST /api/v1/mailbox-messages/:message_id/ack": consumed("event"),
  "GET /api/v1/mailboxes/:mailbox_id/messages": looked("target"),
  "GET /api/v1/mailboxes/:mailbox_id/stats": looked("target"),
  "GET /api/v1/mailbox-messages/:message_id": looked("event"),

  "GET /api/v1/portal": { takes: ["portal"], names: "own" },
  "DELETE /api/v1/portal/session": { takes: ["portal"], names: "own" },

  // Of a filter and a sample that the request holds.
  "POST /api/v1/filters/try": seen("own"),

  // The organization's catalogue, which is there for customers to read.
  "GET /api/v1/event-types": seen("own"),
  "GET /api/v1/event-types/:name": seen("own"),

  "GET /api/v1/targets": seen("own"),
  "POST /api/v1/targets": changed("own"),
  "GET /api/v1/targets/:id": seen("target"),
  "PATCH /api/v1/targets/:id": changed("target"),
  "DELETE /api/v1/targets/:id": changed("target"),
  "POST /api/v1/targets/:id/signing-secret/rotate": changed("target"),
  "DELETE /api/v1/targets/:id/signing-secret/previous": changed("target"),
  "POST /api/v1/targets/:id/test": changed("target"),
  "GET /api/v1/targets/:id/health": seen("target"),
  "GET /api/v1/target-health": seen("own"),
  "GET /api/v1/targets/:id/tryout": { takes: ["read", "customer"], names: "target" },

  "GET /api/v1/events": seen("own"),
  "GET /api/v1/events/:id": seen("event"),
  // A consumer's message is an event, whose payload the tools of agents read in parts.
  "GET /api/v1/events/:id/payload": { takes: ["read", "consume", "customer", "portal"], names: "event" },
  "POST /api/v1/events/:id/replay": changed("event"),
  "POST /api/v1/events/:id/cancel": { takes: ["customer"], names: "event" },

  "GET /api/v1/publications": { takes: ["read", "customer"], names: "own" },
  "GET /api/v1/publications/:id": { takes: ["read", "customer"], names: "publication" },
  "POST /api/v1/publications/:id/replay": { takes: ["customer"], names: "publication" },

  "GET /api/v1/keys": reading,
  "GET /api/v1/customers": reading,
  "GET /api/v1/portal-settings": reading,
  "GET /api/v1/customers/:uid": reading,
  "GET /api/v1/endpoints": reading,
  "GET /api/v1/endpoints/:id": reading,
  "GET /api/v1/replays": reading,
  "GET /api/v1/replays/:id": reading,
  "GET /api/v1/stream": reading,
  "GET /api/v1/stats": reading,
  "GET /api/v1/orgs": reading,
  "GET /api/v1/members": reading,
  "GET /api/v1/invitations": reading,
  "GET /api/v1/audit-log": reading,
  "GET /api/v1/erasures": reading,
  "GET /api/v1/erasures/:id": reading,
  "GET /api/v1/notification-targets": reading,
  "GET /api/v1/usage": reading,
};

/** The rows with their rules. @throws {Error} for a rule of a route that there is not. */
export function withScopes(rows: readonly RouteRow[]): RouteRow[] {
  const routes = new Set(rows.map(([method, path]) => `${method} ${path}`));
  const stray = Object.keys(rules).find((route) => !routes.has(route));
  if (stray !== undefined) throw new Error(`http/scopedRoutes.ts has a rule for ${stray}, which is no route`);
  return rows.map(([method, path, credential, definition, least]) => [
    method,
    path,
    credential,
    definition,
    least,
    rules[`${method} ${path}`],
  ]);
}
