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
/** Interval at which `onWait` is called while another process holds the lock. */
const lockTimeoutMs = 5_000;

export interface Joining {
  process: ProcessRecord;
  /** Whether the process has the database to itself. */
  isAlone: boolean;
}

export interface MigrateOptions {
  /** Recorded as a running process, so that no migration takes away what it uses. */
  joining?: Joining | undefined;
  /** Number of cells of the data plane; one by default. */
  cells?: number;
  /** Called with a text to follow "still", such as "waiting for a lock"; an error that it throws ends the wait. */
  onWait?: (what: string) => void;
}

/**
 * Brings the database to this version: applies numbered migrations (forward only, each once and in its own transaction),
 * installs this version's SQL functions in a schema of their own, and creates the partitions of the next days. The functions
 * of other versions stay as they are, and requests of their processes wait only briefly; see {@link withBriefLocks}. Many
 * processes may run it at once, and it can be repeated after it was killed at any point.
 * @returns the names of the applied files, and of the functions' schema if it was created.
 * @throws {SchemaError} when this version cannot run on the database; see {@link applyMigrations}.
 */
export async function migrate(
  pool: pg.Pool,
  { joining, cells = 1, onWait = () => undefined }: MigrateOptions = {},
): Promise<string[]> {
  const client = await pool.connect();
  try {
    // Tables are created in the first schema of the session's default path, not in the functions' schema.
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

/** Waits as long as another process holds the lock, because a migration of many rows takes time. */
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
