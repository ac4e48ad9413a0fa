import type pg from "pg";

/** Every column of every table that has the text, as text or as bytes. */
export async function placesOfText(pool: pg.Pool, text: string): Promise<string[]> {
  const { rows: columns } = await pool.query<{ table: string; column: string; type: string }>(
    `select c.table_name as table, c.column_name as column, c.udt_name as type
     from information_schema.columns c
     join pg_class t on t.relname = c.table_name and t.relkind in ('r', 'p') and not t.relispartition
     where c.table_schema = (
         select n.nspname from pg_class e join pg_namespace n on n.oid = e.relnamespace where e.oid = 'events'::regclass
       )
       and c.udt_name in ('text', 'bytea', 'jsonb', 'json', '_text', '_bytea')`,
  );
  const places: string[] = [];
  for (const { table, column, type } of columns) {
    const value = type.endsWith("bytea") ? `encode(v, 'escape')` : "v::text";
    const values = type.startsWith("_") ? `unnest("${column}")` : `"${column}"`;
    const { rowCount } = await pool.query(
      `select from (select ${values} as v from "${table}") x where strpos(${value}, $1) > 0 limit 1`,
      [text],
    );
    if (rowCount === 1) places.push(`${table}.${column}`);
  }
  return places;
}
