import { ApiError } from "./errors.ts";

/**
 * The limit of a credential: sending, reading, consuming some mailboxes, or one customer with everything that belongs to it.
 * `portal` is the customer itself, in a session. A credential without a scope may do what its kind and role allow.
 */
export type Scope =
  | { kind: "send" }
  | { kind: "read" }
  | { kind: "consume"; mailboxIds: readonly string[] }
  | { kind: "customer"; customerUid: string }
  | { kind: "portal"; customerUid: string };

/** The scopes that an API key can have. */
export const keyScopes = ["send", "read", "consume", "customer"] as const;

/** A thing that belongs to a mailbox or to a customer. Endpoints and mailboxes are targets, messages are events. */
export interface NamedThing {
  kind: "target" | "event" | "publication";
  id: string;
}

/**
 * The limited credentials that a route takes, and what the first parameter of its path names. A credential limited to
 * mailboxes or to a customer reaches its own things only. `shared`: the parameter names something that the whole organization
 * may see. `own`: the path has no parameter, and the route keeps to the caller's own things by itself.
 */
export interface ScopeRule {
  takes: readonly Scope["kind"][];
  names?: Names | undefined;
}

type Names = NamedThing["kind"] | "customer" | "shared" | "own";

/** No limited credential. */
export const noLimitedKey = { takes: [] } as const;
/** Every limited key, which may ask about itself. */
export const everyKey = { takes: ["send", "read", "consume", "customer"], names: "own" } as const;
/** Keys that read, and cover the whole organization. */
export const readKeys = { takes: ["read"] } as const;

/** A customer's keys and portal sessions, and keys that read. */
export function customerReads<const N extends Names>(names: N) {
  return { takes: ["read", "customer", "portal"], names } as const;
}

/** A customer's keys and portal sessions. */
export function customerChanges<const N extends Names>(names: N) {
  return { takes: ["customer", "portal"], names } as const;
}

/** Consumers of a mailbox, and keys that read. */
export function consumerReads<const N extends Names>(names: N) {
  return { takes: ["read", "consume", "customer"], names } as const;
}

/** Consumers of a mailbox. A claim belongs to a key, so that no session takes part. */
export function consumerChanges<const N extends Names>(names: N) {
  return { takes: ["consume", "customer"], names } as const;
}

/** Looks up in the database whether a thing of the organization is within a scope. */
export type Reach = (orgId: string, scope: Scope, thing: NamedThing) => Promise<boolean>;

/** The outcome of a check without the database; `unknown` is answered like an id that does not exist. */
export type ScopeCheck = "admitted" | "refused" | "unknown" | "to be looked up";

/**
 * Checks a call of a limited credential, as far as that needs no database. A route without a rule refuses it.
 * @param named the first parameter of the path, if it has one.
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

/** 403 for what a limited credential may not do at all; things beyond its reach are answered like unknown ones. */
export function outOfScope(scope: Scope): ApiError {
  return new ApiError(403, `${limits[scope.kind]}, and may not do this`, "scope_refused");
}

const limits: Record<Scope["kind"], string> = {
  send: "this API key is limited to sending",
  read: "this API key is limited to reading",
  consume: "this API key is limited to the messages of some mailboxes",
  customer: "this API key is limited to one customer",
  portal: "this session is a customer's, in its portal",
};

/** The customer that a caller is limited to; undefined for other callers. */
export function customerOf(scope: Scope | undefined): string | undefined {
  return scope !== undefined && "customerUid" in scope ? scope.customerUid : undefined;
}

/** A scope as `api_keys` holds it; a CHECK there keeps the columns together. */
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
