import type { Caller } from "./credentials.ts";
import { ApiError } from "./errors.ts";

/** What users of an organization may be, each able to do all that the one before it can. */
export const roles = ["viewer", "member", "admin"] as const;

export type Role = (typeof roles)[number];

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
