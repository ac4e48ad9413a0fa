import { CompiledQuery } from "kysely";
import type pg from "pg";
import { newRootId } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";
import type { Action } from "../http/contract/auditActions.ts";
import type { Origin } from "./origin.ts";
import { shown } from "./differences.ts";

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
  /** The fields that differ, with their names in the interface; see `differences`. */
  before?: Readonly<Record<string, unknown>> | undefined;
  after?: Readonly<Record<string, unknown>> | undefined;
}

/** An origin whose organization may be unknown, such as a refused login with an unknown address. */
export type AnyOrigin = Omit<Origin, "orgId"> & { orgId: string | null };

/**
 * Records a change in the transaction that makes it, so that both are committed or neither. Long texts and lists are
 * truncated.
 * @param transaction an open transaction of pg or Kysely, not a pool.
 */
export function recordChange(
  transaction: pg.ClientBase | Queries,
  origin: AnyOrigin,
  change: RecordedChange,
): Promise<void> {
  return recordChanges(transaction, origin, [change]);
}

/** Records several changes of one origin, in their order, in one round trip. */
export async function recordChanges(
  transaction: pg.ClientBase | Queries,
  origin: AnyOrigin,
  changes: readonly RecordedChange[],
): Promise<void> {
  const values = valuesOf(origin, changes);
  if ("executeQuery" in transaction) {
    await transaction.executeQuery(CompiledQuery.raw(insertText, values));
  } else {
    await transaction.query({ name: "record_change", text: insertText, values });
  }
}

/** Stores the present name of a user, key or customer too, so that it is known after a deletion. */
const insertText = `
  insert into audit_log (
    id, org_id, action, actor_kind, actor_id, actor_name, object_kind, object_id, object_name, before, after,
    client_address, user_agent, request_id
  )
  select
    c.id,
    $1::uuid,
    c.action,
    $2::text,
    $3::uuid,
    case
      when $4::text is not null then $4
      when $2 = 'user' then (select email from users where id = $3)
      when $2 = 'key' then (select name from api_keys where id = $3)
      when $2 = 'customer' then (select coalesce(nullif(name, ''), uid) from customers where id = $3)
    end,
    c.object_kind,
    c.object_id,
    c.object_name,
    c.before,
    c.after,
    $5::text,
    $6::text,
    $7::text
  from unnest($8::uuid[], $9::text[], $10::text[], $11::uuid[], $12::text[], $13::jsonb[], $14::jsonb[])
    as c (id, action, object_kind, object_id, object_name, before, after)`;

function valuesOf({ orgId, actor, request }: AnyOrigin, changes: readonly RecordedChange[]): unknown[] {
  return [
    orgId,
    actor.kind,
    "id" in actor ? actor.id : null,
    "name" in actor ? actor.name : null,
    request?.clientAddress,
    request?.userAgent,
    request?.requestId,
    changes.map(newEntryId),
    changes.map(({ action }) => action),
    changes.map(({ object }) => object.kind),
    changes.map(({ object }) => object.id),
    changes.map(({ object }) => object.name ?? null),
    changes.map(({ before }) => json(before)),
    changes.map(({ after }) => json(after)),
  ];
}

let lastMs = 0;

/** Creates ids that increase within a process, even within a millisecond, so that entries are listed in order. */
function newEntryId(): string {
  lastMs = Math.max(Date.now(), lastMs + 1);
  return newRootId(lastMs);
}

function json(fields: Readonly<Record<string, unknown>> | undefined): string | null {
  return fields === undefined ? null : JSON.stringify(shown(fields));
}
