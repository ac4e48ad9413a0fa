import { CompiledQuery } from "kysely";
import type pg from "pg";
import { newRootId } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";
import type { Action } from "../http/contract/auditActions.ts";
import type { Actor, Origin, RequestTrace } from "./origin.ts";
import { shown } from "./differences.ts";

/** The kind of the changed object. */
type ObjectKind =
  | "organization"
  | "user"
  | "key"
  | "invitation"
  | "customer"
  | "event_type"
  | "target"
  | "batch";

/** A change as the audit log stores it, without secrets. */
export interface RecordedChange {
  action: Action;
  object: { kind: ObjectKind; id: string | null; name?: string | null };
  /** The fields that differ, by the names of the interface; see `differences`. */
  before?: Readonly<Record<string, unknown>> | undefined;
  after?: Readonly<Record<string, unknown>> | undefined;
}

/** An origin whose organization may be unknown, such as a refused login with an unknown address. */
export type AnyOrigin = Omit<Origin, "orgId"> & { orgId: string | null };

/**
 * Records a change in the transaction that makes it, so that both are committed or neither. Long texts and lists are
 * truncated.
 * @param transaction an open transaction of either library; a pool is not one.
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

/** Stores the present name of a user or key, so that it stays known after a deletion. */
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

/** Makes ids that grow within one process, also within a millisecond, so that entries are listed in order. */
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
