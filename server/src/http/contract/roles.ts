import type { Caller } from "./credentials.ts";
import { ApiError } from "./errors.ts";

/** The roles of an organization's users; each may do everything that the one before it may. */
export const roles = ["viewer", "member", "admin"] as const;

export type Role = (typeof roles)[number];

/**
 * Refuses the session of a user whose role is too low. API keys and customers have no role: the route's `credential` and
 * `scope` decide about them.
 * @throws {ApiError} 403 with the code `role_too_low`.
 */
export function requireRole(caller: Caller, least: Role): void {
  if (caller.kind !== "session" || roles.indexOf(caller.role) >= roles.indexOf(least)) return;
  throw new ApiError(403, `this needs the role ${least}, and yours is ${caller.role}`, {
    code: "role_too_low",
  });
}
