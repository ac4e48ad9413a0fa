import type pg from "pg";
import { ofTheDatabase, tableNames } from "../postgres/foreignTables.ts";
import type { OwnTable, Partition } from "./parts.ts";

/**
 * The tables to back up, in the schema where the session's search path finds `events`; referenced tables come first.
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
     order by c.relname`,
    [tableNames.filter((name) => !ofTheDatabase.includes(name))],
  );
  const partitions = await partitionsByTable(client);
  const tables = rows.map(({ name, columns }) => ({ name, columns, partitions: partitions.get(name) ?? [] }));
  return referredFirst(tables, await references(client));
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

/** Pairs of tables of which `from` has a foreign key to `to`. */
async function references(client: pg.ClientBase): Promise<{ from: string; to: string }[]> {
  const { rows } = await client.query<{ from: string; to: string }>(
    `select a.relname as from, b.relname as to
     from pg_constraint k
     join pg_class a on a.oid = k.conrelid
     join pg_class b on b.oid = k.confrelid
     where k.contype = 'f'
       and a.relnamespace = ${home}
       and b.relnamespace = ${home}
       and a.oid <> b.oid`,
  );
  return rows;
}

function referredFirst(
  tables: readonly OwnTable[],
  pairs: readonly { from: string; to: string }[],
): OwnTable[] {
  const sorted: OwnTable[] = [];
  const placed = new Set<string>();
  let left = [...tables];
  while (left.length > 0) {
    const ready = left.filter(({ name }) => pairs.every(({ from, to }) => from !== name || placed.has(to)));
    if (ready.length === 0) throw new Error("unreachable: foreign keys of the schema go round in a circle");
    for (const table of ready) placed.add(table.name);
    sorted.push(...ready);
    left = left.filter(({ name }) => !placed.has(name));
  }
  return sorted;
}
