import type pg from "pg";
import { CommandError } from "../../../runtime/commandError.ts";
import { placeOfServer, type Server } from "../../../postgres/cellServers.ts";
import { readWorkers } from "../../../postgres/placement/workers.ts";

/** The first version of Citus with schema-based sharding. */
const oldestCitus = 12;

/**
 * Checks that the session is on a server that can coordinate cells.
 * @throws {CommandError} saying what to do, when the server lacks Citus, has a version that is too old, is a worker, or has no
 * address for its workers.
 */
export async function refuseUnfitCoordinator(client: pg.ClientBase): Promise<void> {
  const version = await citusVersion(client);
  if (version === undefined) {
    throw new CommandError(
      "the database of DATABASE_URL has no Citus: install Citus 12 or newer on each server, create this database and " +
        "run create extension citus in it on each, then add each worker with postrider db worker add HOST:PORT (docs/scaling.md)",
      "conflict",
    );
  }
  if (Number.parseInt(version, 10) < oldestCitus)
    throw new CommandError(`Citus ${version} is too old: cells need ${oldestCitus} or newer`, "conflict");
  const { rows } = await client.query<{ is_worker: boolean; is_known: boolean }>(
    `select
       (select groupid <> 0 from pg_dist_local_group) as is_worker,
       exists (select from pg_dist_node where groupid = 0) as is_known`,
  );
  if (rows[0]!.is_worker)
    throw new CommandError("DATABASE_URL names a worker of Citus: set it to the coordinator", "conflict");
  if (!rows[0]!.is_known) {
    throw new CommandError(
      "workers do not know yet how to reach this coordinator: run select citus_set_coordinator_host('HOST', PORT) here, with its " +
        "address as workers see it",
      "conflict",
    );
  }
}

export async function citusVersion(client: pg.ClientBase): Promise<string | undefined> {
  const { rows } = await client.query<{ version: string }>(
    "select extversion as version from pg_extension where extname = 'citus'",
  );
  return rows[0]?.version;
}

/**
 * Checks that cells can be placed on the workers, and moved from them later.
 * @throws {CommandError} saying what to do, when they cannot.
 */
export async function refuseUnfitWorkers(client: pg.ClientBase): Promise<void> {
  const workers = await readWorkers(client);
  if (workers.every(({ takesCells }) => !takesCells)) {
    throw new CommandError(
      workers.length === 0
        ? "Citus knows no worker: add each with postrider db worker add HOST:PORT"
        : "all workers are drained: add one with postrider db worker add HOST:PORT",
      "conflict",
    );
  }
  const { rows } = await client.query<Server & { success: boolean; result: string }>(
    `select nodename as host, nodeport as port, success, result
     from run_command_on_workers('select current_setting(''wal_level'')')`,
  );
  for (const { success, result, ...server } of rows) {
    if (!success)
      throw new CommandError(`the worker ${placeOfServer(server)} does not answer: ${result}`, "failed");
    refuseWalLevel(server, result);
  }
}

/** @throws {CommandError} when the server's WAL level does not allow moving cells from it while the service runs. */
export function refuseWalLevel(server: Server, level: string): void {
  if (level === "logical") return;
  throw new CommandError(
    `wal_level is ${level} on ${placeOfServer(server)}, so no cell can be moved from there while the service runs: run alter system ` +
      "set wal_level = logical there, and restart that PostgreSQL",
    "conflict",
  );
}

/**
 * @param functions the functions of Citus that the command calls, with their parameter types.
 * @throws {CommandError} when the role may not call one of them, or does not own the tables.
 */
export async function refuseWithoutRights(
  client: pg.ClientBase,
  functions: readonly string[],
): Promise<void> {
  const { rows } = await client.query<{ role: string; missing: string[]; owns: boolean }>(
    `select
       current_user as role,
       array(
         select f.name
         from unnest($1::text[]) as f (name)
         where not has_function_privilege(to_regprocedure(f.name), 'execute')
       ) as missing,
       (
         select coalesce(bool_and(pg_has_role(c.relowner, 'usage')), true)
         from pg_class c
         where c.oid = any (array[to_regclass('organizations'), to_regclass('events')])
       ) as owns`,
    [functions],
  );
  const { role, missing, owns } = rows[0]!;
  if (!owns)
    throw new CommandError(`the role ${role} does not own the tables: use the role that does`, "conflict");
  if (missing.length === 0) return;
  throw new CommandError(
    `the role ${role} may not call what Citus gives to superusers alone: use a superuser, or grant execute on function ` +
      `${missing.join(", ")} to ${role}`,
    "conflict",
  );
}
