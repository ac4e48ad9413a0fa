import type { ScopeRule } from "./scope.ts";
import type { Caller } from "./credentials.ts";
import { ApiError } from "./errors.ts";

/** The roles of an organization's users. Each role includes the rights of the roles before it. */
export const roles = ["viewer", "member", "admin"] as const;

export type Role = (typeof roles)[number];

/** A route's callers: anyone, without a credential. */
export const anyone = { credential: "none" } as const;

/** A route's callers: users with a session and at least this role. */
export function users(leastRole: Role) {
  return { credential: "session", leastRole } as const;
}

/** A route's callers: users with at least this role, API keys, and the limited credentials that the rule admits. */
export function usersAndKeys<const Rule extends ScopeRule>(leastRole: Role, scope: Rule) {
  return { credential: "either", leastRole, scope } as const;
}

/** A route's callers: API keys, and the limited credentials that the rule admits. */
export function keys<const Rule extends ScopeRule>(scope: Rule) {
  return { credential: "apiKey", scope } as const;
}

/** Like {@link keys}, for a route whose SQL function checks the key in its own transaction. */
export function keysCheckedInSql<const Rule extends ScopeRule>(scope: Rule) {
  return { credential: "apiKeyInSql", scope } as const;
}

/** A route's callers: customers in their portal. */
export const portalSessions = {
  credential: "portal",
  scope: { takes: ["portal"], names: "own" },
} as const;

/**
 * Refuses the session of a user whose role is too low. API keys and customers have no role; other parts of the route's `access`
 * decide on them.
 * @throws {ApiError} 403 with the code `role_too_low`.
 */
export function requireRole(caller: Caller, least: Role): void {
  if (caller.kind !== "session" || roles.indexOf(caller.role) >= roles.indexOf(least)) return;
  throw new ApiError(
    403,
    `this route needs the role ${least}, and your role is ${caller.role}`,
    "role_too_low",
  );
}
