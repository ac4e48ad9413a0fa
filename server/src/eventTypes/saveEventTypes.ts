import type pg from "pg";
import { differences } from "../audit/differences.ts";
import type { Origin } from "../audit/origin.ts";
import { type RecordedChange, recordChanges } from "../audit/recordChange.ts";
import { newRootId } from "../postgres/ids.ts";
import { inTransaction } from "../postgres/pool.ts";
import {
  auditedAs,
  auditedColumns,
  type AuditedEventType,
  auditedOf,
  changeableFields,
  objectOf,
} from "./auditedEventType.ts";
import type { CheckedEventType } from "./checkEventType.ts";
import { maxEventTypes } from "./schemas.ts";

/** The outcome for a type that is to be saved; `full` where the organization has as many types as it may. */
export type Saving = "created" | "updated" | "unchanged" | "full";

export const tooManyEventTypes = `a workspace has at most ${maxEventTypes} event types: delete one first`;

interface Step {
  type: CheckedEventType;
  saving: Saving;
  before: AuditedEventType | undefined;
  after: AuditedEventType;
}

/**
 * Makes event types, or changes those that exist, in one transaction. Values that a type has already are no change.
 * @param types of different names.
 * @returns the outcome by name, in a dry run the one that there would be.
 */
export async function saveEventTypes(
  pool: pg.Pool,
  origin: Origin,
  types: readonly CheckedEventType[],
  { nowMs, isDryRun = false }: { nowMs: number; isDryRun?: boolean },
): Promise<Map<string, Saving>> {
  const steps = await inTransaction(pool, async (client) => {
    if (!isDryRun) await lockCatalogue(client, origin.orgId);
    const planned = await plan(client, origin.orgId, types, nowMs);
    if (!isDryRun) await carryOut(client, origin, planned, nowMs);
    return planned;
  });
  return new Map(steps.map(({ type, saving }) => [type.name, saving]));
}

/** Lets one transaction at a time change an organization's catalogue, so that the count holds. */
async function lockCatalogue(client: pg.ClientBase, orgId: string): Promise<void> {
  await client.query({
    name: "lock_event_types",
    text: `select
           from organizations o
           where o.id = $1
           for no key update`,
    values: [orgId],
  });
}

async function plan(
  client: pg.ClientBase,
  orgId: string,
  types: readonly CheckedEventType[],
  nowMs: number,
): Promise<Step[]> {
  const { rows: present } = await client.query<AuditedEventType>({
    name: "read_event_types_named",
    text: `select ${auditedColumns}
           from event_types t
           where t.org_id = $1
             and t.name = any ($2::text[])`,
    values: [orgId, types.map(({ name }) => name)],
  });
  const { rows: counted } = await client.query<{ count: number }>({
    name: "count_event_types",
    text: `select count(*) as count
           from event_types t
           where t.org_id = $1`,
    values: [orgId],
  });
  const byName = new Map(present.map((one) => [one.name, one]));
  let room = maxEventTypes - counted[0]!.count;
  return types.map((type): Step => {
    const before = byName.get(type.name);
    const after = auditedAs(before?.id ?? newRootId(nowMs), type);
    if (before === undefined) return { type, saving: room-- > 0 ? "created" : "full", before, after };
    const isChanged = Object.keys(differences(changeableFields, before, after).after).length > 0;
    return { type, saving: isChanged ? "updated" : "unchanged", before, after };
  });
}

async function carryOut(
  client: pg.ClientBase,
  origin: Origin,
  steps: readonly Step[],
  nowMs: number,
): Promise<void> {
  const changes = steps.filter(({ saving }) => saving === "created" || saving === "updated");
  if (changes.length === 0) return;
  const columnOf = <K extends keyof CheckedEventType>(name: K) => changes.map(({ type }) => type[name]);
  await client.query({
    name: "save_event_types",
    text: `insert into event_types (
             org_id, id, name, description, "group", deprecated, schema, example, created_at, updated_at
           )
           select $1, n.id, n.name, n.description, n."group", n.deprecated, n.schema, n.example, $2, $2
           from unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::text[], $9::text[])
             as n (id, name, description, "group", deprecated, schema, example)
           on conflict (org_id, name) do update
           set description = excluded.description,
             "group" = excluded."group",
             deprecated = excluded.deprecated,
             schema = excluded.schema,
             example = excluded.example,
             updated_at = excluded.updated_at`,
    values: [
      origin.orgId,
      Math.floor(nowMs / 1000),
      changes.map(({ after }) => after.id),
      columnOf("name"),
      columnOf("description"),
      columnOf("group"),
      columnOf("deprecated"),
      columnOf("schema"),
      columnOf("example"),
    ],
  });
  await recordChanges(client, origin, changes.map(changeOf));
}

function changeOf({ before, after }: Step): RecordedChange {
  const object = objectOf(after);
  return before === undefined
    ? { action: "event_type.created", object, after: auditedOf(after) }
    : { action: "event_type.updated", object, ...differences(changeableFields, before, after) };
}
