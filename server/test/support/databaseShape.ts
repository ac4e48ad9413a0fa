import type pg from "pg";
import { cellSchemaPattern } from "../../src/postgres/cells.ts";
import { functionSchemaPattern } from "../../src/postgres/functionSchema.ts";

/**
 * The tables, indexes, constraints, sequences and functions of a database from PostgreSQL's catalogue, one line
 * each, sorted; without those of extensions.
 */
export async function shapeOfDatabase(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(text, [cellSchemaPattern, functionSchemaPattern]);
  return rows.map(({ line }) => line);
}

/**
 * The shape of a database without the partitions of days that an earlier shape lacks: midnight may have passed
 * since.
 */
export async function shapeOfDays(pool: pg.Pool, earlier: readonly string[]): Promise<string[]> {
  const known = new Set(earlier.flatMap(daysOf));
  return (await shapeOfDatabase(pool)).filter((line) => daysOf(line).every((day) => known.has(day)));
}

function daysOf(line: string): string[] {
  return line.match(/_\d{8}(?![0-9a-f])/g) ?? [];
}

const text = `
  with own as (
    select n.oid, n.nspname
    from pg_namespace n
    where n.nspname ~ $1
       or n.oid = (select relnamespace from pg_class where oid = 'organizations'::regclass)
  ),
  relation as (
    select c.*, own.nspname || '.' || c.relname as name
    from pg_class c
    join own on own.oid = c.relnamespace
    where not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
      and c.relkind in ('r', 'p', 'S', 'v')
  )
  select line
  from (
    select format(
      'relation %s %s identity %s options %s partition %s %s owner %s rights %s',
      name, relkind, relreplident, reloptions, pg_get_expr(relpartbound, oid),
      case when relkind = 'p' then pg_get_partkeydef(oid) end, relowner::regrole, relacl
    ) as line
    from relation
    union all
    select format(
      'column %s.%s %s %s null %s default %s generated %s identity %s statistics %s storage %s compression %s',
      r.name, a.attname, row_number() over (partition by r.oid order by a.attnum), format_type(a.atttypid, a.atttypmod),
      not a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attgenerated, a.attidentity, a.attstattarget, a.attstorage,
      a.attcompression
    )
    from relation r
    join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = r.oid and d.adnum = a.attnum
    union all
    select format('constraint %s %s %s valid %s', r.name, k.conname, pg_get_constraintdef(k.oid), k.convalidated)
    from relation r
    join pg_constraint k on k.conrelid = r.oid
    union all
    select format('index %s valid %s', pg_get_indexdef(i.indexrelid), i.indisvalid)
    from relation r
    join pg_index i on i.indrelid = r.oid
    union all
    select format('trigger %s %s', r.name, pg_get_triggerdef(t.oid))
    from relation r
    join pg_trigger t on t.tgrelid = r.oid and not t.tgisinternal
    union all
    select format('function %s %s %s', p.oid::regprocedure, p.proconfig, md5(p.prosrc))
    from pg_proc p
    join pg_namespace n on n.oid = p.pronamespace
    where n.nspname ~ $2
  ) shape
  order by line`;
