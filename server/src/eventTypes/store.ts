import type pg from "pg";
import { countOfOrganization, lockOrganization } from "../accounts/organizationStore.ts";
import { differences, pick } from "../audit/differences.ts";
import type { Origin } from "../audit/origin.ts";
import { recordChange, recordChanges, type RecordedChange } from "../audit/recordChange.ts";
import { newRootId } from "../postgres/ids.ts";
import { inTransaction } from "../postgres/pool.ts";
import type { CheckedEventType } from "./checkEventType.ts";
import {
  type EventType,
  type EventTypeQuery,
  type JsonSchema,
  type ListedEventType,
  maxEventTypes,
} from "./schemas.ts";
import { createHash } from "node:crypto";
import type { Static } from "typebox";

/** An event type with its schema and example. */
export type StoredEventType = Static<typeof EventType>;

const columns = `t.id, t.name, t.description, t."group", t.deprecated, t.created_at, t.updated_at`;

const fromOrganization = `from event_types t
  where t.org_id = $1`;

/** A page of an organization's event types, by name, without schemas and examples. */
export async function listEventTypes(
  pool: pg.Pool,
  orgId: string,
  { after = "", prefix = "", deprecated, limit }: Static<typeof EventTypeQuery>,
): Promise<Static<typeof ListedEventType>[]> {
  const { rows } = await pool.query<Static<typeof ListedEventType>>({
    name: "list_event_types",
    text: `select ${columns}
           ${fromOrganization}
             and t.name > $2
             and starts_with(t.name, $3)
             and ($4::boolean is null or t.deprecated = $4)
           order by t.name
           limit $5`,
    values: [orgId, after, prefix, deprecated && deprecated === "true", limit],
  });
  return rows;
}

/** Returns undefined when the organization has no such event type. */
export async function readEventType(
  pool: pg.Pool,
  orgId: string,
  name: string,
): Promise<StoredEventType | undefined> {
  type Row = Static<typeof ListedEventType> & { schema: string | null; example: string | null };
  const { rows } = await pool.query<Row>({
    name: "read_event_type",
    text: `select ${columns}, t.schema, t.example
           ${fromOrganization}
             and t.name = $2`,
    values: [orgId, name],
  });
  const type = rows[0];
  return (
    type && {
      ...type,
      schema: parsed(type.schema) as JsonSchema | null,
      example: parsed(type.example),
    }
  );
}

function parsed(text: string | null): unknown {
  return text === null ? null : JSON.parse(text);
}

/** An event type in the audit log: with fingerprints in place of its schema and its example, which may be large. */
type AuditedEventType = CheckedEventType & { id: string };

const auditedFields = ["name", "description", "group", "deprecated", "schema", "example"] as const;

/** The fields of an existing event type that a PUT or an import can change. */
const changeableFields = auditedFields.filter((field) => field !== "name");

const auditedColumns = `t.id, t.name, t.description, t."group", t.deprecated, ${fingerprintIn("schema")}, ${fingerprintIn("example")}`;

function fingerprintIn(column: string): string {
  return `octet_length(t.${column}) || ' bytes, sha256 ' || encode(sha256(convert_to(t.${column}, 'UTF8')), 'hex') as ${column}`;
}

/** Like {@link fingerprintIn}, for a text that is not stored yet. */
function fingerprint(text: string | null): string | null {
  if (text === null) return null;
  return `${Buffer.byteLength(text)} bytes, sha256 ${createHash("sha256").update(text).digest("hex")}`;
}

/** The audit log's form of an event type that is not stored yet. */
function auditedAs(id: string, type: CheckedEventType): AuditedEventType {
  return { id, ...type, schema: fingerprint(type.schema), example: fingerprint(type.example) };
}

function objectOf({ id, name }: { id: string; name: string }) {
  return { kind: "event_type", id, name } as const;
}

/** The outcome of saving an event type; `full`: the organization has the maximum number of event types. */
export type Saving = "created" | "updated" | "unchanged" | "full";

export const tooManyEventTypes = `an organization has at most ${maxEventTypes} event types: delete one first`;

interface Step {
  type: CheckedEventType;
  saving: Saving;
  before: AuditedEventType | undefined;
  after: AuditedEventType;
}

/**
 * Creates event types, or changes existing ones, in one transaction. A type whose values stay the same is unchanged.
 * @param types with different names.
 * @returns the outcome by name; in a dry run, the outcome that saving would have.
 */
export async function saveEventTypes(
  pool: pg.Pool,
  origin: Origin,
  types: readonly CheckedEventType[],
  { nowMs, isDryRun = false }: { nowMs: number; isDryRun?: boolean },
): Promise<Map<string, Saving>> {
  const steps = await inTransaction(pool, async (client) => {
    // Only one transaction at a time changes an organization's catalogue, so that the limit on the number of types holds.
    if (!isDryRun) await lockOrganization(client, origin.orgId);
    const planned = await plan(client, origin.orgId, types, nowMs);
    if (!isDryRun) await carryOut(client, origin, planned, nowMs);
    return planned;
  });
  return new Map(steps.map(({ type, saving }) => [type.name, saving]));
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
  const byName = new Map(present.map((one) => [one.name, one]));
  let room = maxEventTypes - (await countOfOrganization(client, "event_types", orgId));
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
    ? { action: "event_type.created", object, after: pick(auditedFields, after) }
    : { action: "event_type.updated", object, ...differences(changeableFields, before, after) };
}

/**
 * Deletes an event type from the catalogue. Targets are not changed: targets that list the type still get items of it.
 * @returns how many targets list the type; undefined when the organization has no such type.
 */
export function deleteEventType(pool: pg.Pool, origin: Origin, name: string): Promise<number | undefined> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<AuditedEventType>({
      name: "delete_event_type",
      text: `delete from event_types t
             where t.org_id = $1
               and t.name = $2
             returning ${auditedColumns}`,
      values: [origin.orgId, name],
    });
    const removed = rows[0];
    if (removed === undefined) return undefined;
    await recordChange(client, origin, {
      action: "event_type.deleted",
      object: objectOf(removed),
      before: pick(auditedFields, removed),
    });
    return countNaming(client, origin.orgId, name);
  });
}

async function countNaming(client: pg.ClientBase, orgId: string, name: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>({
    name: "count_targets_naming",
    text: `select count(*) as count
           from targets t
           where t.org_id = $1
             and $2 = any (t.event_types)`,
    values: [orgId, name],
  });
  return rows[0]!.count;
}
