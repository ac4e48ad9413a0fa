import { Type } from "typebox";
import type pg from "pg";
import { originOf, traceOf } from "../audit/origin.ts";
import { type Config, publicUrlOf } from "../config/config.ts";
import { customerRoute } from "../customers/customerRoute.ts";
import type { Caller } from "../http/contract/credentials.ts";
import { unauthorized } from "../http/contract/errors.ts";
import { route, type Routes } from "../http/contract/route.ts";
import { createLink, exchangeCode } from "./links.ts";
import { readPortal } from "./readPortal.ts";
import {
  EndedPortalSessions,
  Portal,
  PortalCode,
  PortalLink,
  PortalSession,
  PortalSettings,
  PortalSettingsInput,
} from "./schemas.ts";
import { endPortalSession, endPortalSessions } from "./sessions.ts";
import { none, readSettings, saveSettings } from "./settings.ts";

export interface PortalDeps {
  pool: pg.Pool;
  config: Pick<Config, "publicUrl" | "host" | "port">;
  nowMs: () => number;
}

type Names = "link" | "endSessions" | "exchange" | "read" | "leave" | "settings" | "saveSettings";

/** The portal of customers: links to it, their sessions, and how it looks. */
export function portalRoutes(deps: PortalDeps): Routes<Names> {
  return { ...linkRoutes(deps), ...sessionRoutes(deps), ...settingRoutes(deps) };
}

function linkRoutes(deps: PortalDeps): Routes<"link" | "endSessions"> {
  return {
    link: customerRoute(
      {
        summary: "Make a link to the portal of a customer",
        description:
          "Whoever opens it first, within the hour, has a session of this customer for twelve hours: own targets and items, and nothing of anyone else. 503 with `Retry-After` while a process of a version runs that knows no portals.",
        answer: PortalLink,
      },
      async (call, uid) => {
        const { code, expiresAt } = await createLink(deps.pool, originOf(call), {
          uid,
          nowMs: deps.nowMs(),
        });
        const url = `${publicUrlOf(deps.config)}/portal/${call.caller.orgId}#code=${code}`;
        return { url, expires_at: expiresAt };
      },
    ),
    endSessions: customerRoute(
      {
        summary: "End all portal sessions of a customer, and the links that nobody has opened",
        answer: EndedPortalSessions,
      },
      async (call, uid) => {
        const { sessions, links } = await endPortalSessions(deps.pool, originOf(call), uid);
        return { ended_sessions: sessions, ended_links: links };
      },
    ),
  };
}

function sessionRoutes(deps: PortalDeps): Routes<"exchange" | "read" | "leave"> {
  return {
    exchange: route(
      {
        summary: "Exchange the code of a link for a session of its customer, once",
        body: PortalCode,
        response: { 200: PortalSession },
        errors: { 410: "The link is unknown, was used, or has expired" },
      },
      async ({ body: { code }, request }) => {
        const { token, expiresAt } = await exchangeCode(deps.pool, {
          code,
          request: traceOf(request),
          nowMs: deps.nowMs(),
        });
        return { session_token: token, expires_at: expiresAt };
      },
    ),
    read: route(
      {
        summary: "Read whose portal a session is for, and how it looks",
        response: { 200: Portal },
      },
      async ({ caller }) => readPortal(deps.pool, requirePortal(caller)),
    ),
    leave: route(
      {
        summary: "End the portal session that the request carries",
        response: { 200: Type.Object({ ok: Type.Literal(true) }) },
      },
      async (call) => {
        await endPortalSession(deps.pool, originOf(call), requirePortal(call.caller));
        return { ok: true };
      },
    ),
  };
}

/** Routes with the credential `portal` have no other callers. */
function requirePortal(caller: Caller): Extract<Caller, { kind: "portal" }> {
  if (caller.kind !== "portal") throw unauthorized();
  return caller;
}

function settingRoutes(deps: PortalDeps): Routes<"settings" | "saveSettings"> {
  return {
    settings: route(
      {
        summary: "Read how the portal looks, and whose pages may show it",
        response: { 200: PortalSettings },
      },
      ({ caller }) => readSettings(deps.pool, caller.orgId),
    ),
    saveSettings: route(
      {
        summary: "Say how the portal looks, and whose pages may show it",
        description: "All of it: what is left out becomes unset, and what is said again is no change.",
        body: PortalSettingsInput,
        response: { 200: PortalSettings },
      },
      (call) => saveSettings(deps.pool, originOf(call), { ...none, ...call.body }),
    ),
  };
}
