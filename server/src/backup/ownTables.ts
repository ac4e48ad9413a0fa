import type pg from "pg";
import { ofTheDatabase, tableNames } from "../postgres/foreignTables.ts";
import type { OwnTable, Partition } from "./parts.ts";

/**
 * The tables to back up, in the schema where the session's search path finds `events`. They are in the order in which the
 * migrations create them, so that a table comes after those that its foreign keys refer to.
 */
export async function ownTables(client: pg.ClientBase): Promise<OwnTable[]> {
  const { rows } = await client.query<{ name: string; columns: string[] }>(
    `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
     from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     where c.relnamespace = ${home}
       and c.relname = any ($1)
       and c.relkind in ('r', 'p')
       -- Unlogged tables contain nothing to keep.
       and c.relpersistence = 'p'
     group by c.oid, c.relname
     order by array_position($1, c.relname::text)`,
    [tableNames.filter((name) => !ofTheDatabase.includes(name))],
  );
  const partitions = await partitionsByTable(client);
  return rows.map(({ name, columns }) => ({ name, columns, partitions: partitions.get(name) ?? [] }));
}

/**
 * SQL for the schema of the tables. Only tables created without a schema are in the search path's first schema, which can differ.
 */
const home = "(select e.relnamespace from pg_class e where e.oid = 'events'::regclass)";

async function partitionsByTable(client: pg.ClientBase): Promise<Map<string, Partition[]>> {
  const { rows } = await client.query<Partition & { parent: string }>(
    `select
       p.relname as parent,
       c.relname as name,
       pg_get_expr(c.relpartbound, c.oid) as bounds,
       coalesce(c.reloptions, '{}') as settings,
       array(
         select a.attname::text
         from pg_attribute a
         where a.attrelid = c.oid
           and a.attnum > 0
           and a.attstattarget = 0
       ) as unmeasured
     from pg_inherits i
     join pg_class p on p.oid = i.inhparent
     join pg_class c on c.oid = i.inhrelid
     where p.relkind = 'p'
       and p.relnamespace = ${home}
     order by c.relname`,
  );
  const found = new Map<string, Partition[]>();
  for (const { parent, ...partition } of rows) {
    found.set(parent, [...(found.get(parent) ?? []), partition]);
  }
  return found;
}
