import type pg from "pg";
import { applyMigrations } from "./applyMigrations.ts";
import { refuseHalfDistributed } from "./distribution.ts";
import { ensureCells } from "./ensureCells.ts";
import { functionSchema } from "./functionSchema.ts";
import { installFunctions } from "./installFunctions.ts";
import { migrations } from "./migrations.ts";
import { createPartitions } from "./partitions.ts";
import { noteAlive, noteAllEnded, type ProcessRecord } from "./processes.ts";

/** The advisory lock that serializes changes of the schema. */
export const migrationLockKey = 7_281_934_001;
/** How often it is told that another process has the lock. */
const lockTimeoutMs = 5_000;

export interface Joining {
  process: ProcessRecord;
  /** The process has the database to itself. */
  isAlone: boolean;
}

export interface MigrateOptions {
  /** Written down as a process of the database, so that what it uses stays. */
  joining?: Joining;
  /** In how many cells the data plane is; one unless told. */
  cells?: number;
  /** Told what it waits for, to follow "still"; what it throws ends the wait. */
  onWait?: (what: string) => void;
}

/**
 * Brings the database to this version: numbered migrations forward only, each once and in its own transaction; this
 * version's SQL functions in a schema of their own; the partitions of the days ahead. The functions of other versions stay as
 * they are, and requests of their processes wait only briefly; see {@link withBriefLocks}. Many processes may run it at once,
 * and it can be repeated after it was killed at any point.
 * @returns what was applied, by the names of files and of the functions' schema.
 * @throws {SchemaError} when this version cannot run on the database; see {@link applyMigrations}.
 */
export async function migrate(
  pool: pg.Pool,
  { joining, cells = 1, onWait = () => undefined }: MigrateOptions = {},
): Promise<string[]> {
  const client = await pool.connect();
  try {
    // Tables are made where the session's own path begins, and not among the functions.
    await client.query(`reset search_path; set statement_timeout = 0; set lock_timeout = ${lockTimeoutMs}`);
    await takeLock(client, onWait);
    await refuseHalfDistributed(client);
    if (joining?.isAlone) await noteAllEnded(client);
    const session = { client, pool, onWait };
    const applied = await applyMigrations(session, migrations);
    if (await installFunctions(client)) applied.push(functionSchema);
    if (cells === 1) await createPartitions(session);
    await ensureCells(session, cells);
    if (joining !== undefined) await noteAlive(client, joining.process);
    return applied;
  } finally {
    // The lock and the settings belong to the session; the connection is not returned to the pool.
    client.release(true);
  }
}

/** Waits for as long as another process has the lock, because a migration of many rows takes its time. */
async function takeLock(client: pg.PoolClient, onWait: (what: string) => void): Promise<void> {
  for (;;) {
    try {
      await client.query("select pg_advisory_lock($1)", [migrationLockKey]);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== "55P03") throw error;
      onWait("waiting for another process that brings the schema up to date");
    }
  }
}
