import type { Caller } from "./credentials.ts";
import { ApiError } from "./errors.ts";
import type { RouteRow } from "./routeTable.ts";

/** What users of an organization may be, each able to do all that the one before it can. */
export const roles = ["viewer", "member", "admin"] as const;

export type Role = (typeof roles)[number];

/**
 * The least role whose sessions a route takes; undefined for a route that takes none. What its row does not say follows
 * from the method: viewers read, members change.
 */
export function leastRole([method, , credential, , stated]: RouteRow): Role | undefined {
  if (credential !== "session" && credential !== "either") return undefined;
  return stated ?? (method === "GET" ? "viewer" : "member");
}

/**
 * Refuses the session of a user who may not do this. An API key belongs to no user and has no role, nor has a customer:
 * what they may do is said by the credential that a route takes, and by its rule for what is limited.
 * @throws {ApiError} 403 with the code `role_too_low`.
 */
export function requireRole(caller: Caller, least: Role): void {
  if (caller.kind !== "session" || roles.indexOf(caller.role) >= roles.indexOf(least)) return;
  throw new ApiError(403, `this needs the role ${least}, and yours is ${caller.role}`, {
    code: "role_too_low",
  });
}
