import type { Role } from "./roles.ts";
import type { ScopeRule } from "./scope.ts";

/** A route's callers: anyone, without a credential. */
export const anyone = { credential: "none" } as const;

/** A route's callers: users with a session and at least this role. */
export function users(leastRole: Role) {
  return { credential: "session", leastRole } as const;
}

/** A route's callers: users with at least this role, API keys, and the limited credentials of the rule. */
export function usersAndKeys<const Rule extends ScopeRule>(leastRole: Role, scope: Rule) {
  return { credential: "either", leastRole, scope } as const;
}

/** A route's callers: API keys, and the limited credentials of the rule. */
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
