import type pg from "pg";

/**
 * Every `table.column` that contains the text in some row, in the schemas of the service and of its cells. Bytes
 * are searched only in columns of bytes.
 */
export async function placesOfText(pool: pg.Pool, text: string | Buffer): Promise<string[]> {
  const { rows: columns } = await pool.query<{ table: string; column: string; type: string }>(
    `select c.oid::regclass::text as table, quote_ident(a.attname) as column, t.typname as type
     from pg_attribute a
     join pg_class c on c.oid = a.attrelid
     join pg_namespace n on n.oid = c.relnamespace
     join pg_type t on t.oid = a.atttypid
     where c.relkind in ('r', 'p')
       and not c.relispartition
       and a.attnum > 0
       and not a.attisdropped
       and n.nspname !~ '^pg_'
       and n.nspname <> 'information_schema'
       and t.typname in ('text', 'bytea', 'jsonb', 'json', '_text', '_bytea')`,
  );
  const places: string[] = [];
  for (const { table, column, type } of columns) {
    const isBytes = type.endsWith("bytea");
    if (!isBytes && typeof text !== "string") continue;
    const values = type.startsWith("_") ? `unnest(${column})` : column;
    const { rowCount } = await pool.query(
      `select from (select ${values} as v from ${table}) x
       where ${isBytes ? "position($1::bytea in v)" : "strpos(v::text, $1)"} > 0
       limit 1`,
      [isBytes ? Buffer.from(text) : text],
    );
    if (rowCount === 1) places.push(`${table.split(".").at(-1)}.${column}`);
  }
  return places;
}
