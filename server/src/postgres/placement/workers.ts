import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { cellSchemaPattern } from "../cells.ts";
import type { Server } from "../cellServers.ts";

/** A server on which Citus may place cells. */
export interface Worker extends Server {
  /** Whether new cells are placed on the server. */
  takesCells: boolean;
}

/** The workers, in the order of host and port. */
export async function readWorkers(client: pg.ClientBase): Promise<Worker[]> {
  const { rows } = await client.query<Worker>(
    `select nodename as host, nodeport as port, shouldhaveshards as "takesCells"
     from pg_dist_node
     where groupid <> 0
       and isactive
       and noderole = 'primary'
     order by host, port`,
  );
  return rows;
}

/** Sets whether Citus may place new cells on a worker. Cells that the worker has stay there. */
export async function setTakesCells(
  client: pg.ClientBase,
  { host, port }: Server,
  does: boolean,
): Promise<void> {
  await client.query("select citus_set_node_property($1, $2, 'shouldhaveshards', $3)", [host, port, does]);
}

/** Returns the worker with the fewest cells, of the workers that take cells. @throws {Error} when no worker does. */
export async function emptiestWorker(client: pg.ClientBase, workers: readonly Worker[]): Promise<Worker> {
  const cells = await placedCells(client);
  const count = (worker: Worker): number => cells.filter((cell) => isSameServer(cell, worker)).length;
  const ready = workers.filter(({ takesCells }) => takesCells);
  const [first] = ready.toSorted((one, other) => count(one) - count(other));
  if (first === undefined) throw new Error("no worker of Citus takes cells");
  return first;
}

export function isSameServer(one: Server, other: Server): boolean {
  return one.host === other.host && one.port === other.port;
}

/** The server of a cell that Citus has distributed. */
export interface PlacedCell extends Server {
  schema: string;
  /** Size of the cell there with all indexes; null while the server is unavailable. */
  bytes: number | null;
}

/** The cells that Citus has placed on servers, in order. The database has the extension Citus. */
export async function placedCells(client: pg.Pool | pg.ClientBase): Promise<PlacedCell[]> {
  const { rows } = await client.query<PlacedCell>(
    `select n.nspname as schema, s.nodename as host, s.nodeport as port, sum(s.shard_size)::double precision as bytes
     from pg_dist_schema d
     join pg_namespace n on n.oid = d.schemaid
     join citus_shards s on s.colocation_id = d.colocationid
     where n.nspname ~ $1
     group by n.nspname, s.nodename, s.nodeport
     order by schema`,
    [cellSchemaPattern],
  );
  return rows;
}

/** Number of rows per second that were inserted, updated or deleted in each cell's tables during `waitMs`, by schema. */
export async function readLoad(pool: pg.Pool, waitMs: number): Promise<Map<string, number>> {
  const before = await changedRows(pool);
  const beganMs = performance.now();
  await delay(waitMs);
  const after = await changedRows(pool);
  const seconds = (performance.now() - beganMs) / 1_000;
  const load = new Map<string, number>();
  for (const [schema, count] of after)
    load.set(schema, Math.max(0, Math.round((count - (before.get(schema) ?? 0)) / seconds)));
  return load;
}

/**
 * Each server counts the changes of the rows that it stores; the empty tables that represent cells of other servers count as
 * 0.
 */
async function changedRows(pool: pg.Pool): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ schema: string; count: number }>(
    `select l.schema, sum(l.count)::double precision as count
     from run_command_on_workers($1) r
     cross join lateral jsonb_to_recordset(
       case when r.success and r.result <> '' then r.result::jsonb else '[]' end
     ) as l (schema text, count bigint)
     group by l.schema`,
    [countText],
  );
  return new Map(rows.map(({ schema, count }) => [schema, count]));
}

const countText = `
  select jsonb_agg(jsonb_build_object('schema', schema, 'count', count))
  from (
    select
      n.nspname as schema,
      sum(
        pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid) + pg_stat_get_tuples_deleted(c.oid)
      ) as count
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '${cellSchemaPattern}'
      and c.relkind = 'r'
    group by n.nspname
  ) counted`;
