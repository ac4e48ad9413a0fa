import type pg from "pg";
import type { Config } from "../../config/config.ts";
import { leastConnections } from "../../postgres/cells.ts";
import { hasDistributedCells } from "../../postgres/ensureCells.ts";
import { limited } from "../../postgres/hot/queryLimit.ts";
import { isUnanswered } from "../../postgres/pool.ts";

type ConnectionConfig = Pick<Config, "cells" | "databasePool" | "processes">;

/** `max_connections` of the embedded server, unless the settings need more. */
const usualRoom = 60;
/** Connections for the operator's commands, PostgreSQL's own workers and superusers. */
const otherConnections = 20;
/** LISTEN connections outside the pool, for streams and for abandoned tool calls. Each cell has one more, for messages. */
const listeners = 2;

/** Maximum number of connections of the cells' own pools in one process. */
function connectionsOfCells({ cells, databasePool }: ConnectionConfig): number {
  const count = Number(cells);
  return count === 1 ? 0 : count * Math.max(leastConnections, Math.ceil(databasePool / count));
}

/** Maximum number of connections that all processes of the service may open together. */
function mostConnections(config: ConnectionConfig): number {
  const { cells, databasePool, processes } = config;
  return processes * (databasePool + connectionsOfCells(config) + listeners + Number(cells));
}

/**
 * Maximum number of connections that all processes may cause to one worker of Citus, which may hold all cells: direct ones, and
 * those of the coordinator, each of whose sessions keeps one to every worker that it has used.
 */
function mostToWorker(config: ConnectionConfig): number {
  return config.processes * (config.databasePool + 2 * connectionsOfCells(config));
}

/** @returns `max_connections` for the embedded server. */
export function roomWhenEmbedded(config: ConnectionConfig): number {
  return Math.max(usualRoom, mostConnections(config) + otherConnections);
}

/** How many connections a server allows to this user and database. */
const room = `select least(
  current_setting('max_connections')::integer
  - current_setting('superuser_reserved_connections')::integer
  - coalesce(current_setting('reserved_connections', true)::integer, 0),
  (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
  (select nullif(datconnlimit, -1) from pg_database where datname = current_database()))`;

/**
 * @throws {Error} a sentence when the database or a server that holds cells allows fewer connections than the service's processes
 * may open.
 */
export async function refuseTooManyConnections(pool: pg.Pool, config: ConnectionConfig): Promise<void> {
  const { rows } = await pool.query<{ room: number }>(`${room} as room`);
  refuseBeyond(config, { where: "the database", most: mostConnections(config), room: rows[0]!.room });
  if (!(await hasDistributedCells(pool))) return;
  for (const worker of await roomOfWorkers(pool)) {
    refuseBeyond(config, {
      where: `the worker ${worker.server}`,
      most: mostToWorker(config),
      room: Number(worker.room),
    });
  }
}

/** Connections allowed by each worker that answers; empty when one does not answer within 3 s, so as not to delay the start. */
async function roomOfWorkers(pool: pg.Pool): Promise<{ server: string; room: string }[]> {
  const statement = limited(
    3_000,
    `select nodename || ':' || nodeport as server, result as room
     from run_command_on_workers($1)
     where success`,
    [room],
  );
  try {
    return (await pool.query<{ server: string; room: string }>(statement)).rows;
  } catch (error) {
    if (isUnanswered(error)) return [];
    throw error;
  }
}

function refuseBeyond(
  config: ConnectionConfig,
  { where, most, room: allowed }: { where: string; most: number; room: number },
): void {
  if (most <= allowed) return;
  throw new Error(
    `POSTRIDER_PROCESSES=${config.processes} with POSTRIDER_DATABASE_POOL=${config.databasePool} may open ${most} connections to ${where}, which allows ${allowed}: lower one of them, or raise PostgreSQL's max_connections or the connection limit of the user or database`,
  );
}
