import type pg from "pg";
import { functionSchema } from "./functionSchema.ts";

/** A server of a Citus cluster, by the name or address under which Citus knows it. */
export interface Server {
  host: string;
  port: number;
}

/** `host:port` or `[address]:port`, the forms that operators write. */
export function placeOfServer({ host, port }: Server): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The server that holds the tables of a cell. */
export interface Placement extends Server {
  /** Citus' group id of the server. */
  group: number;
  /** The schema of the control plane; every server has its reference tables. */
  home: string;
  /** The id of the first organization, which differs between clusters. */
  mark: string | null;
}

/** Returns where Citus has placed the cells, by schema, from the coordinator's catalogue. */
export async function readPlacements(pool: pg.Pool): Promise<ReadonlyMap<string, Placement>> {
  // All tables of a schema are on one server, so one table is enough to find it.
  const { rows } = await pool.query<Placement & { schema: string }>(
    `select x.nspname as schema, n.nodename as host, n.nodeport as port, n.groupid as group,
       (select h.relnamespace::regnamespace::text from pg_class h where h.oid = 'organizations'::regclass) as home,
       (select o.id from organizations o order by o.id limit 1) as mark
     from pg_dist_schema d
     join pg_namespace x on x.oid = d.schemaid
     join pg_dist_shard s on s.logicalrelid = to_regclass(format('%I.events', x.nspname))
     join pg_dist_placement p on p.shardid = s.shardid and p.shardstate = 1
     join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'`,
  );
  return new Map(rows.map(({ schema, ...placement }) => [schema, placement]));
}

/**
 * Checks that the pool's server is the one that Citus means, and that it can run this version's functions on the cell's
 * tables. From this host, the address may lead to another server, and an upgrade may be in progress.
 * @throws {Error} that says why the server cannot be used, or the driver's error.
 */
export async function checkWorker(pool: pg.Pool, schema: string, { group, mark }: Placement): Promise<void> {
  const { rows } = await pool.query<{ group: number; has_functions: boolean; has_tables: boolean }>(
    `select
       (select groupid from pg_dist_local_group) as group,
       to_regclass($2) is not null as has_tables,
       exists (
         select
         from pg_proc
         where pronamespace = to_regnamespace($1)
           and proname = 'accept_items'
           and 'plan_cache_mode=auto' = any (proconfig)
       ) as has_functions`,
    [functionSchema, `${schema}.events`],
  );
  const { rows: first } = await pool.query<{ id: string }>(
    "select id from organizations order by id limit 1",
  );
  const { group: its, has_tables: hasTables, has_functions: hasFunctions } = rows[0]!;
  const isSame = mark === null || first[0]?.id === mark;
  if (its !== group || !hasTables || !isSame) throw new Error("a different server answers at its address");
  if (!hasFunctions) throw new Error("it lacks the SQL functions of this version");
}
