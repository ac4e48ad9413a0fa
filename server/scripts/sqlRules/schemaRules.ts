import type pg from "pg";
import type { TablePlace } from "../../src/postgres/tablePlaces.ts";
import type { Breach } from "./statementRules.ts";

type Places = ReadonlyMap<string, TablePlace>;

interface TableRow {
  name: string;
  /** The partitioned table of a partition; otherwise the table's own name. */
  table_name: string;
  has_key: boolean;
  /** Replica identity, as `pg_class.relreplident`: `f` (full) or `i` (index) does not need a primary key. */
  identity: string;
}

/** Breaches of the rules of cells by the tables in a database's catalogue. */
export async function schemaBreaches(client: pg.ClientBase, places: Places): Promise<Breach[]> {
  const { rows } = await client.query<TableRow>(tables);
  return [...rows.flatMap((row) => tableBreaches(row, places)), ...(await crossingKeys(client, places))];
}

const tables = `
  select
    c.relname as name,
    coalesce(parent.relname, c.relname) as table_name,
    exists (select from pg_index x where x.indrelid = c.oid and x.indisprimary) as has_key,
    c.relreplident::text as identity
  from pg_class c
  left join pg_inherits i on i.inhrelid = c.oid
  left join pg_class parent on parent.oid = i.inhparent
  where c.relnamespace = (select relnamespace from pg_class where oid = 'events'::regclass)
    and c.relkind in ('r', 'p')`;

function tableBreaches(row: TableRow, places: Places): Breach[] {
  const place = places.get(row.table_name);
  const breaches: string[] = [];
  if (place === undefined) breaches.push("is missing in tablePlaces.ts");
  if (place === "cell" && !row.has_key && row.identity === "d") breaches.push("has no replica identity");
  return breaches.map((rule) => ({ rule, place: row.table_name }));
}

/**
 * Finds foreign keys between tables of different places. A foreign key may refer to a table of the same place or to a reference
 * table: when Citus places the cells, the control plane's foreign keys to reference tables are dropped
 * (`postgres/placement/distribute.ts`).
 */
async function crossingKeys(client: pg.ClientBase, places: Places): Promise<Breach[]> {
  const { rows } = await client.query<{ name: string; from: string; to: string }>(
    `select k.conname as name, f.relname as "from", t.relname as "to"
     from pg_constraint k
     join pg_class f on f.oid = k.conrelid
     join pg_class t on t.oid = k.confrelid
     where k.contype = 'f'
       and k.conparentid = 0
       and k.connamespace = (select relnamespace from pg_class where oid = 'events'::regclass)`,
  );
  return rows
    .filter(({ from, to }) => places.get(from) !== places.get(to) && places.get(to) !== "reference")
    .map(({ name, from, to }) => ({ rule: `the foreign key ${name} leads to ${to}`, place: from }));
}

/** By table, the columns whose default is a number of a sequence. */
export async function numberedColumns(client: pg.ClientBase): Promise<Map<string, string[]>> {
  const { rows } = await client.query<{ table_name: string; columns: string[] }>(
    `select c.relname as table_name, array_agg(a.attname::text order by a.attnum) as columns
     from pg_class c
     join pg_attribute a on a.attrelid = c.oid
     left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where c.relnamespace = (select relnamespace from pg_class where oid = 'events'::regclass)
       and c.relkind in ('r', 'p')
       and (a.attidentity <> '' or pg_get_expr(d.adbin, d.adrelid) like '%nextval(%')
     group by c.relname`,
  );
  return new Map(rows.map((row) => [row.table_name, row.columns]));
}
