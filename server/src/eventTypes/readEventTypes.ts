import type pg from "pg";
import type { JsonSchema } from "./schemas.ts";

export interface ListedEventType {
  id: string;
  name: string;
  description: string;
  group: string;
  deprecated: boolean;
  /** Unix seconds. */
  created_at: number;
  updated_at: number;
}

/** A type with its schema and example. */
export interface StoredEventType extends ListedEventType {
  schema: JsonSchema | null;
  /** Any JSON; null for none. */
  example: unknown;
}

/** Which of an organization's types are listed; a page begins after the name of the last one of the page before. */
export interface EventTypeFilter {
  after?: string | undefined;
  prefix?: string | undefined;
  deprecated?: boolean | undefined;
  limit: number;
}

const columns = `t.id, t.name, t.description, t."group", t.deprecated, t.created_at, t.updated_at`;

const fromOrganization = `from event_types t
  where t.org_id = $1`;

/** A page of an organization's event types, by name, without schemas and examples. */
export async function listEventTypes(
  pool: pg.Pool,
  orgId: string,
  { after = "", prefix = "", deprecated, limit }: EventTypeFilter,
): Promise<ListedEventType[]> {
  const { rows } = await pool.query<ListedEventType>({
    name: "list_event_types",
    text: `select ${columns}
           ${fromOrganization}
             and t.name > $2
             and starts_with(t.name, $3)
             and ($4::boolean is null or t.deprecated = $4)
           order by t.name
           limit $5`,
    values: [orgId, after, prefix, deprecated ?? null, limit],
  });
  return rows;
}

/** Undefined when the organization has no such type. */
export async function readEventType(
  pool: pg.Pool,
  orgId: string,
  name: string,
): Promise<StoredEventType | undefined> {
  type Row = ListedEventType & { schema: string | null; example: string | null };
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
