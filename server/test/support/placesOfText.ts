import type pg from "pg";

/** Every `table.column` that holds the text in some row, in the schemas of the service and of its cells. */
export async function placesOfText(pool: pg.Pool, text: string): Promise<string[]> {
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
    const value = type.endsWith("bytea") ? `encode(v, 'escape')` : "v::text";
    const values = type.startsWith("_") ? `unnest(${column})` : column;
    const { rowCount } = await pool.query(
      `select from (select ${values} as v from ${table}) x where strpos(${value}, $1) > 0 limit 1`,
      [text],
    );
    if (rowCount === 1) places.push(`${table.split(".").at(-1)}.${column}`);
  }
  return places;
}
