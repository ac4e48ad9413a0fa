import type pg from "pg";
import type { Config } from "../config/config.ts";
import { leastConnections } from "../postgres/cells.ts";

type ConnectionConfig = Pick<Config, "cells" | "databasePool" | "processes">;

/** `max_connections` of the embedded server, unless the settings need more. */
const usualRoom = 60;
/** Connections for the operator's commands, PostgreSQL's own workers and superusers. */
const otherConnections = 20;
/** LISTEN connections beside the pool, for streams and for abandoned tool calls. Each cell has one more, for messages. */
const listeners = 2;

/** The most connections that all processes of the service may open together. */
function mostConnections({ cells, databasePool, processes }: ConnectionConfig): number {
  const count = Number(cells);
  const ofCells = count === 1 ? 0 : count * Math.max(leastConnections, Math.ceil(databasePool / count));
  return processes * (databasePool + ofCells + listeners + count);
}

/** @returns `max_connections` for the embedded server. */
export function roomWhenEmbedded(config: ConnectionConfig): number {
  return Math.max(usualRoom, mostConnections(config) + otherConnections);
}

/** @throws {Error} a sentence when the database allows fewer connections than the service's processes may open. */
export async function refuseTooManyConnections(pool: pg.Pool, config: ConnectionConfig): Promise<void> {
  const { rows } = await pool.query<{ room: number }>(
    `select
       current_setting('max_connections')::integer
       - current_setting('superuser_reserved_connections')::integer
       - coalesce(current_setting('reserved_connections', true)::integer, 0) as room`,
  );
  const most = mostConnections(config);
  const { room } = rows[0]!;
  if (most <= room) return;
  throw new Error(
    `POSTRIDER_PROCESSES=${config.processes} with POSTRIDER_DATABASE_POOL=${config.databasePool} may open ${most} connections to the database, which allows ${room}: lower one of them, or raise max_connections of PostgreSQL`,
  );
}
