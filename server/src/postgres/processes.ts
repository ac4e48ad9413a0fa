import { hostname } from "node:os";
import type pg from "pg";
import { cellSchemaPattern } from "./cells.ts";
import { functionSchema } from "./functionSchema.ts";
import { limited } from "./hot/queryLimit.ts";
import { lastMigration } from "./migrations.ts";
import { newRootId } from "./ids.ts";

/** A process of the service, as recorded in the database. */
export interface ProcessRecord {
  id: string;
  version: string;
  host: string;
}

export function newProcessRecord(version: string): ProcessRecord {
  return { id: newRootId(Date.now()), version, host: hostname() };
}

/** Records that the process is running now. */
export async function noteAlive(
  database: pg.Pool | pg.ClientBase,
  { id, version, host }: ProcessRecord,
): Promise<void> {
  await database.query(
    `insert into processes (id, version, host, migration, functions)
     values ($1, $2, $3, $4, $5)
     on conflict (id) do update
     set seen_at = now()`,
    [id, version, host, lastMigration, functionSchema],
  );
}

/** Records that the process has stopped by itself. */
export async function noteEnd(pool: pg.Pool, { id }: ProcessRecord): Promise<void> {
  const text = "update processes set seen_at = now(), ended_at = now() where id = $1";
  // A frozen database must not delay the end of the process.
  await pool.query(limited(3_000, text, [id]));
}

/**
 * Marks every recorded process as ended. Only for a process that has the database to itself, because no other process can be
 * running.
 */
export async function noteAllEnded(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ exists: boolean }>(
    "select to_regclass('processes') is not null as exists",
  );
  if (rows[0]!.exists) await client.query("update processes set ended_at = seen_at where ended_at is null");
}

/**
 * SQL condition for a running process: it was seen within the last minute. A process that died counts as running for a
 * minute.
 */
const isRunning = "ended_at is null and seen_at > now() - interval '1 minute'";

/** The hosts of all running processes. */
export async function runningHosts(client: pg.Pool | pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ host: string }>(
    `select host
     from processes
     where ${isRunning}`,
  );
  return rows.map(({ host }) => host);
}

/** Whether another process was seen within the last minute. */
export async function isAccompanied(pool: pg.Pool, { id }: ProcessRecord): Promise<boolean> {
  const { rows } = await pool.query<{ is_accompanied: boolean }>(
    `select exists (
       select
       from processes
       where id <> $1
         and ${isRunning}
     ) as is_accompanied`,
    [id],
  );
  return rows[0]!.is_accompanied;
}

/** Running processes that do not know the migration `needs`. */
export async function runningOlderProcesses(
  client: pg.ClientBase,
  needs: number,
): Promise<Pick<ProcessRecord, "version" | "host">[]> {
  const { rows } = await client.query<Pick<ProcessRecord, "version" | "host">>(
    `select version, host
     from processes
     where ${isRunning}
       and migration < $1
     order by started_at`,
    [needs],
  );
  return rows;
}

/**
 * Returns why this process cannot continue: its functions were dropped, a migration removed something that it uses, or the
 * database was divided. Undefined while it can.
 * @param cells the number of cells with which this process works.
 */
export async function whyOvertaken(pool: pg.Pool, cells: number): Promise<string | undefined> {
  const { rows } = await pool.query<{ has_functions: boolean; obstacle: string | null; schemas: number }>(
    `select
       to_regnamespace($1) is not null as has_functions,
       (select name from schema_changes where needs > $2 order by version desc limit 1) as obstacle,
       (select count(*)::integer from pg_namespace where nspname ~ $3) as schemas`,
    [functionSchema, lastMigration, cellSchemaPattern],
  );
  const { has_functions: hasFunctions, obstacle, schemas } = rows[0]!;
  if (obstacle !== null) {
    return `the database has migration ${obstacle}, on which this version of Postrider cannot run: start a newer version`;
  }
  const present = Math.max(1, schemas);
  if (present !== cells) {
    return `the database has ${present} cells, and this process works with ${cells}: start it again with POSTRIDER_CELLS=${present}`;
  }
  if (hasFunctions) return undefined;
  return `the SQL functions of this process are gone from the database (schema ${functionSchema}): start it again, or a newer version`;
}
