import type pg from "pg";

/** The declaration of a table, from PostgreSQL's catalogue, without the name of its schema. */
export interface TableShape {
  /** The text after `partition by`; null for a table without partitions. */
  partitionKey: string | null;
  /** Storage parameters, such as `fillfactor=70`. */
  options: string[];
  /** How logical replication identifies rows: `d` by the primary key, `f` by all columns. */
  identity: string;
  /** By name: the declaration, and the statistics target (-1 for the default). */
  columns: Map<string, { declaration: string; statistics: number }>;
  /** By name, primary keys first and foreign keys last. `not valid` is left out. */
  constraints: Map<string, string>;
  /** Indexes that belong to no constraint, by name: whether the index is unique, and the definition after the table's name. */
  indexes: Map<string, { isUnique: boolean; text: string }>;
}

/**
 * The shapes of tables of a schema, by name. In the session's search path, the schema comes first, followed by the schemas of
 * tables that its tables refer to.
 */
export async function readShapes(
  client: pg.ClientBase,
  schema: string,
  tables: readonly string[],
): Promise<Map<string, TableShape>> {
  const values = [schema, tables];
  const relations = await client.query<
    Pick<TableShape, "partitionKey" | "options" | "identity"> & { name: string }
  >(relationsText, values);
  const shapes = new Map(
    relations.rows.map(({ name, ...shape }): [string, TableShape] => [
      name,
      { ...shape, columns: new Map(), constraints: new Map(), indexes: new Map() },
    ]),
  );
  const columns = await client.query<Part & { statistics: number }>(columnsText, values);
  for (const { table, name, text, statistics } of columns.rows)
    shapes.get(table)!.columns.set(name, { declaration: text, statistics });
  const constraints = await client.query<Part>(constraintsText, values);
  for (const { table, name, text } of constraints.rows) shapes.get(table)!.constraints.set(name, text);
  const indexes = await client.query<Part & { is_unique: boolean }>(indexesText, values);
  for (const { table, name, text, is_unique: isUnique } of indexes.rows) {
    const behindTable = text.replace(/^.*? ON (ONLY )?\S+ /, "");
    shapes.get(table)!.indexes.set(name, { isUnique, text: behindTable });
  }
  return shapes;
}

interface Part {
  table: string;
  name: string;
  text: string;
}

const ofTables = `c.relnamespace = $1::regnamespace
    and c.relname = any ($2::text[])`;

const relationsText = `
  select
    c.relname as name,
    pg_get_partkeydef(c.oid) as "partitionKey",
    coalesce(c.reloptions, '{}') as options,
    c.relreplident::text as identity
  from pg_class c
  where ${ofTables}
  order by name`;

const columnsText = `
  select
    c.relname as table,
    quote_ident(a.attname) as name,
    concat_ws(
      ' ',
      format_type(a.atttypid, a.atttypmod),
      case when a.attcollation <> t.typcollation then 'collate ' || a.attcollation::regcollation::text end,
      case
        when a.attgenerated = 's' then 'generated always as (' || pg_get_expr(d.adbin, d.adrelid) || ') stored'
        when d.adbin is not null then 'default ' || pg_get_expr(d.adbin, d.adrelid)
      end,
      case when a.attnotnull then 'not null' end
    ) as text,
    coalesce(a.attstattarget, -1)::integer as statistics
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  where ${ofTables}
  order by c.relname, a.attnum`;

const constraintsText = `
  select c.relname as table, k.conname as name, replace(pg_get_constraintdef(k.oid), ' NOT VALID', '') as text
  from pg_class c
  join pg_constraint k on k.conrelid = c.oid
  where ${ofTables}
    and k.contype in ('p', 'u', 'x', 'c', 'f')
  order by k.contype = 'f', k.contype <> 'p', c.relname, k.conname`;

const indexesText = `
  select
    c.relname as table,
    x.relname as name,
    pg_get_indexdef(i.indexrelid) as text,
    i.indisunique as is_unique
  from pg_class c
  join pg_index i on i.indrelid = c.oid
  join pg_class x on x.oid = i.indexrelid
  where ${ofTables}
    and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.conrelid = c.oid)
  order by c.relname, x.relname`;
