import { ApiError } from "./errors.ts";

/**
 * The limit of a credential: sending, reading, consuming some mailboxes, or one customer with all of its objects. `portal` is a
 * session of the customer itself. A credential without a scope may do everything that its kind and role allow.
 */
export type Scope =
  | { kind: "send" }
  | { kind: "read" }
  | { kind: "consume"; mailboxIds: readonly string[] }
  | { kind: "customer"; customerUid: string }
  | { kind: "portal"; customerUid: string };

/** The scopes that an API key can have. */
export const keyScopes = ["send", "read", "consume", "customer"] as const;

/** An object that belongs to a mailbox or to a customer. Endpoints and mailboxes are targets, messages are events. */
export interface NamedThing {
  kind: "target" | "event" | "publication";
  id: string;
}

/**
 * The limited credentials that a route accepts, and what the first parameter of its path names. A credential limited to mailboxes
 * or to a customer reaches only their objects. `shared`: the parameter names an object that the whole organization may see.
 * `own`: the path has no parameter, and the route itself returns only the caller's own objects.
 */
export interface ScopeRule {
  takes: readonly Scope["kind"][];
  names?: Names | undefined;
}

type Names = NamedThing["kind"] | "customer" | "shared" | "own";

/** Rule: no limited credential. */
export const noLimitedKey = { takes: [] } as const;
/** Rule: every limited key, for routes about the key itself. */
export const everyKey = { takes: ["send", "read", "consume", "customer"], names: "own" } as const;
/** Rule: keys limited to reading, in the whole organization. */
export const readKeys = { takes: ["read"] } as const;

/** Rule: a customer's keys and portal sessions, and keys limited to reading. */
export function customerReads<const N extends Names>(names: N) {
  return { takes: ["read", "customer", "portal"], names } as const;
}

/** Rule: a customer's keys and portal sessions. */
export function customerChanges<const N extends Names>(names: N) {
  return { takes: ["customer", "portal"], names } as const;
}

/** Rule: consumers of a mailbox, and keys limited to reading. */
export function consumerReads<const N extends Names>(names: N) {
  return { takes: ["read", "consume", "customer"], names } as const;
}

/** Rule: consumers of a mailbox. No sessions, because a claim belongs to an API key. */
export function consumerChanges<const N extends Names>(names: N) {
  return { takes: ["consume", "customer"], names } as const;
}

/** Looks up in the database whether an object of the organization is within a scope. */
export type Reach = (orgId: string, scope: Scope, thing: NamedThing) => Promise<boolean>;

/** The outcome of a check without the database; `unknown` is answered like an id that does not exist. */
export type ScopeCheck = "admitted" | "refused" | "unknown" | "to be looked up";

/**
 * Checks a call with a limited credential, as far as this needs no database. A route without a rule refuses it.
 * @param named the value of the path's first parameter, if the path has one.
 */
export function checkScope(scope: Scope, rule: ScopeRule | undefined, named: string | undefined): ScopeCheck {
  if (rule === undefined || !rule.takes.includes(scope.kind)) return "refused";
  if (scope.kind === "send" || scope.kind === "read") return "admitted";
  switch (rule.names) {
    case undefined:
      return "refused";
    case "own":
    case "shared":
      return "admitted";
    case "customer":
      return scope.kind !== "consume" && scope.customerUid === named ? "admitted" : "unknown";
    case "target":
      if (scope.kind !== "consume") return "to be looked up";
      return named !== undefined && scope.mailboxIds.includes(named) ? "admitted" : "unknown";
    case "event":
    case "publication":
      return "to be looked up";
  }
}

/** 403 for a route that a limited credential may not call at all. Objects outside its scope are answered like unknown ones. */
export function outOfScope(scope: Scope): ApiError {
  return new ApiError(403, `${limits[scope.kind]} and may not call this route`, "scope_refused");
}

const limits: Record<Scope["kind"], string> = {
  send: "this API key is limited to sending",
  read: "this API key is limited to reading",
  consume: "this API key is limited to the messages of some mailboxes",
  customer: "this API key is limited to one customer",
  portal: "this session belongs to a customer's portal",
};

/** The customer to which a caller is limited; undefined for other callers. */
export function customerOf(scope: Scope | undefined): string | undefined {
  return scope !== undefined && "customerUid" in scope ? scope.customerUid : undefined;
}

/** A scope as columns of `api_keys`, whose combination a CHECK enforces. */
export interface ScopeColumns {
  scope: (typeof keyScopes)[number] | null;
  customer_uid: string | null;
  mailbox_ids: string[] | null;
}

/** The scope of an API key, from its row; undefined for a key without limits. */
export function scopeOf({ scope, customer_uid: customerUid, mailbox_ids: mailboxIds }: ScopeColumns) {
  switch (scope) {
    case null:
      return undefined;
    case "send":
    case "read":
      return { kind: scope } satisfies Scope;
    case "consume":
      return { kind: scope, mailboxIds: mailboxIds! } satisfies Scope;
    case "customer":
      return { kind: scope, customerUid: customerUid! } satisfies Scope;
  }
}

/** The reverse of {@link scopeOf}. */
export function scopeColumns(scope: KeyScope | undefined): ScopeColumns {
  return {
    scope: scope?.kind ?? null,
    customer_uid: scope?.kind === "customer" ? scope.customerUid : null,
    mailbox_ids: scope?.kind === "consume" ? [...scope.mailboxIds] : null,
  };
}

/** A scope that an API key can have. */
export type KeyScope = NonNullable<ReturnType<typeof scopeOf>>;
