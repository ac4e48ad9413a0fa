import { type Static, Type } from "typebox";
import type pg from "pg";
import { originOf, traceOf } from "../audit/origin.ts";
import { type Config, publicUrlOf } from "../config/config.ts";
import { anyone, portalSessions, usersAndKeys } from "../http/contract/access.ts";
import type { Caller } from "../http/contract/credentials.ts";
import { ApiError, foundNamed, orInvalid, unauthorized } from "../http/contract/errors.ts";
import { routesOf } from "../http/contract/route.ts";
import { noLimitedKey, readKeys } from "../http/contract/scope.ts";
import { uidOfPath } from "../customers/routes.ts";
import {
  EndedPortalSessions,
  Portal,
  PortalCode,
  PortalLink,
  PortalSession,
  PortalSettings,
  PortalSettingsInput,
} from "./schemas.ts";
import { createLink, endPortalSession, endPortalSessions, exchangeCode } from "./sessions.ts";
import { checkSettings, none, readSettings, saveSettings } from "./settings.ts";
import examples from "./examples.json" with { type: "json" };
import type { Parts } from "../items/parts.ts";

const route = routesOf<PortalDeps>("Portal");

export interface PortalDeps extends Pick<Parts, "pool" | "nowMs"> {
  config: Pick<Config, "publicUrl" | "host" | "port">;
}

const linkRoute = route("createPortalLink", "POST /api/v1/customers/:uid/portal-links", {
  access: usersAndKeys("member", noLimitedKey),
  audit: "portal_link.created",
  summary: "Create a link to the portal of a customer",
  description:
    "The link works once and expires after one hour. The person who opens it gets a session of twelve hours, which can use the targets and items of this customer only. The status is 503, with `Retry-After`, while a process of an older version that does not know portals is running.",
  response: { 200: PortalLink },
  examples: examples.createPortalLink,
  async handle(call, deps) {
    const uid = uidOfPath(call.params);
    const link = await createLink(deps.pool, originOf(call), { uid, nowMs: deps.nowMs() });
    const { code, expiresAt } = foundNamed(link, "customer", uid);
    const url = `${publicUrlOf(deps.config, call.request.socket)}/portal/${call.caller.orgId}#code=${code}`;
    return { url, expires_at: expiresAt };
  },
});

const endSessionsRoute = route("endPortalSessions", "DELETE /api/v1/customers/:uid/portal-sessions", {
  access: usersAndKeys("member", noLimitedKey),
  audit: "portal_sessions.ended",
  summary: "End all portal sessions of a customer",
  description: "Also revokes the links of the customer that nobody has opened.",
  response: { 200: EndedPortalSessions },
  examples: { answer: { ended_sessions: 1, ended_links: 0 } },
  async handle(call, deps) {
    const uid = uidOfPath(call.params);
    const ended = await endPortalSessions(deps.pool, originOf(call), uid);
    const { sessions, links } = foundNamed(ended, "customer", uid);
    return { ended_sessions: sessions, ended_links: links };
  },
});

const openRoute = route("openPortalSession", "POST /api/v1/portal/sessions", {
  access: anyone,
  audit: "portal_session.started",
  summary: "Exchange the code of a portal link for a session",
  description: "Each code works once.",
  body: PortalCode,
  response: { 200: PortalSession },
  errors: { 410: "The link is unknown, was already used, or has expired" },
  examples: examples.openPortalSession,
  async handle({ body: { code }, request }, deps) {
    const session = await exchangeCode(deps.pool, {
      code,
      request: traceOf(request),
      nowMs: deps.nowMs(),
    });
    if (session === undefined) {
      throw new ApiError(
        410,
        "the link was already used or has expired: ask for a new link",
        "portal_link_gone",
      );
    }
    return { session_token: session.token, expires_at: session.expiresAt };
  },
});

const readRoute = route("readPortal", "GET /api/v1/portal", {
  access: portalSessions,
  summary: "Read the customer and the appearance of the current portal session",
  response: { 200: Portal },
  examples: examples.readPortal,
  async handle({ caller }, deps) {
    const portal = await readPortal(deps.pool, requirePortal(caller));
    if (portal === undefined) throw unauthorized();
    return portal;
  },
});

const leaveRoute = route("leavePortal", "DELETE /api/v1/portal/session", {
  access: portalSessions,
  audit: "portal_session.ended",
  summary: "End the current portal session",
  response: { 200: Type.Object({ ok: Type.Literal(true) }) },
  async handle(call, deps) {
    await endPortalSession(deps.pool, originOf(call), requirePortal(call.caller));
    return { ok: true };
  },
});

/** Narrows the type: routes with the access `portalSessions` have no other callers. */
function requirePortal(caller: Caller): Extract<Caller, { kind: "portal" }> {
  if (caller.kind !== "portal") throw unauthorized();
  return caller;
}

const readSettingsRoute = route("readPortalSettings", "GET /api/v1/portal-settings", {
  access: usersAndKeys("viewer", readKeys),
  summary: "Read the portal settings",
  response: { 200: PortalSettings },
  examples: examples.readPortalSettings,
  handle: ({ caller }, deps) => readSettings(deps.pool, caller.orgId),
});

const saveSettingsRoute = route("savePortalSettings", "PUT /api/v1/portal-settings", {
  access: usersAndKeys("admin", noLimitedKey),
  audit: "portal_settings.saved",
  summary: "Replace the portal settings",
  description:
    "Replaces all settings: omitted settings are reset. Saving the same settings again changes nothing.",
  body: PortalSettingsInput,
  response: { 200: PortalSettings },
  examples: examples.savePortalSettings,
  handle(call, deps) {
    const settings = orInvalid(checkSettings({ ...none, ...call.body }));
    return saveSettings(deps.pool, originOf(call), settings);
  },
});

interface PortalRow {
  organization_name: string;
  customer_name: string;
  logo: string | null;
  colour: string | null;
  expires_at: number;
}

/** Reads a portal's organization, customer and appearance. Undefined when the session has just ended. */
async function readPortal(
  pool: pg.Pool,
  { orgId, scope, tokenHash }: Extract<Caller, { kind: "portal" }>,
): Promise<Static<typeof Portal> | undefined> {
  const { rows } = await pool.query<PortalRow>({
    name: "read_portal",
    text: `select
             coalesce(p.name, o.name) as organization_name,
             c.name as customer_name,
             p.logo,
             p.colour,
             s.expires_at
           from portal_sessions s
           join organizations o on o.id = s.org_id
           join customers c on c.org_id = s.org_id and c.uid = s.customer_uid
           left join portal_settings p on p.org_id = s.org_id
           where s.token_hash = $1`,
    values: [tokenHash],
  });
  const row = rows[0];
  if (row === undefined) return undefined;
  const { organization_name: name, logo, colour, customer_name: customerName, expires_at } = row;
  return {
    organization: { id: orgId, name, logo, colour },
    customer: { uid: scope.customerUid, name: customerName === "" ? null : customerName },
    expires_at,
  };
}

/** Routes of the customer portal: links, sessions and appearance. */
export const portalRoutes = [
  linkRoute,
  endSessionsRoute,
  openRoute,
  readRoute,
  leaveRoute,
  readSettingsRoute,
  saveSettingsRoute,
];
