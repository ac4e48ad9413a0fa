import { CompiledQuery } from "kysely";
import type pg from "pg";
import { newRootId } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";
import type { Action } from "../http/contract/auditActions.ts";
import type { Actor, Origin, RequestTrace } from "./origin.ts";
import { shown } from "./differences.ts";

/** The kinds of what an action is about, each an id of that kind where there is one. */
type ObjectKind =
  | "organization"
  | "user"
  | "key"
  | "invitation"
  | "customer"
  | "event_type"
  | "target"
  | "batch";

/** A change as the audit log keeps it, without secrets. */
export interface RecordedChange {
  action: Action;
  object: { kind: ObjectKind; id: string | null; name?: string | null };
  /** The fields that differ, by the names of the interface; see `differences`. */
  before?: Readonly<Record<string, unknown>> | undefined;
  after?: Readonly<Record<string, unknown>> | undefined;
}

/** An origin that may belong to no organization: somebody who is nobody here. */
export type AnyOrigin = Omit<Origin, "orgId"> & { orgId: string | null };

/**
 * Writes a change down in the transaction that makes it, so that neither is there without the other. Texts and lists are
 * cut to what a reader needs.
 * @param transaction of either kind; a pool is none.
 */
export async function recordChange(
  transaction: pg.ClientBase | Queries,
  origin: AnyOrigin,
  change: RecordedChange,
): Promise<void> {
  const values = valuesOf(origin, change);
  if ("executeQuery" in transaction) {
    await transaction.executeQuery(CompiledQuery.raw(insertText, values));
  } else {
    await transaction.query({ name: "record_change", text: insertText, values });
  }
}

/** The name of a user or a key is the one it has at this moment, also when the change takes it away afterwards. */
const insertText = `
  insert into audit_log (
    id, org_id, action, actor_kind, actor_id, actor_name, object_kind, object_id, object_name, before, after,
    client_address, user_agent, request_id
  )
  select
    $1::uuid,
    $2::uuid,
    $3::text,
    $4::text,
    $5::uuid,
    case
      when $6::text is not null then $6
      when $4 = 'user' then (select email from users where id = $5)
      when $4 = 'key' then (select name from api_keys where id = $5)
      when $4 = 'customer' then (select coalesce(nullif(name, ''), uid) from customers where id = $5)
    end,
    $7::text,
    $8::uuid,
    $9::text,
    $10::jsonb,
    $11::jsonb,
    $12::text,
    $13::text,
    $14::text`;

function valuesOf(origin: AnyOrigin, { action, object, before, after }: RecordedChange): unknown[] {
  const { orgId, actor, request } = origin;
  return [
    newEntryId(),
    orgId,
    action,
    ...actorValues(actor),
    object.kind,
    object.id,
    object.name ?? null,
    json(before),
    json(after),
    ...traceValues(request),
  ];
}

let lastMs = 0;

/** Ids of one process grow, also within a millisecond: what was done later is listed later. */
export function newEntryId(): string {
  lastMs = Math.max(Date.now(), lastMs + 1);
  return newRootId(lastMs);
}

function actorValues(actor: Actor): (string | null)[] {
  const id = "id" in actor ? actor.id : null;
  return [actor.kind, id, "name" in actor ? (actor.name ?? null) : null];
}

function traceValues(request: RequestTrace | undefined): (string | null)[] {
  if (request === undefined) return [null, null, null];
  return [request.clientAddress, request.userAgent, request.requestId];
}

function json(fields: Readonly<Record<string, unknown>> | undefined): string | null {
  return fields === undefined ? null : JSON.stringify(shown(fields));
}
