import type { Config } from "../config/config.ts";
import { version } from "../config/version.ts";
import { closeCells, openCells } from "../postgres/cells.ts";
import { createPool, type DatabaseConnection, isDatabaseAway } from "../postgres/pool.ts";
import { newProcessRecord, noteAlive, whyOvertaken } from "../postgres/processes.ts";
import type { Log } from "../telemetry/log.ts";
import { leave, type OpenDatabase, poolError } from "./database.ts";

export interface Joining {
  config: Config;
  connection: DatabaseConnection;
  encryptionKey: Buffer;
  log: Log;
  /** Why the embedded server is away, where its log says so. */
  trouble: () => Error | undefined;
}

/**
 * Opens the database that the supervisor has brought up to date. If it is away the process serves all the same and answers 503, as
 * running processes do.
 * @throws {Error} a sentence when this version cannot go on with the database.
 */
export async function joinDatabase(joining: Joining): Promise<OpenDatabase> {
  const { config, connection, encryptionKey, log, trouble } = joining;
  const options = {
    connection,
    size: config.databasePool,
    isPlain: config.fastSql === "off",
    onError: poolError(log),
    explainAway: trouble,
  };
  const pool = createPool(options);
  const cells = openCells(pool, Number(config.cells), options);
  const process = newProcessRecord(version);
  const close = async (): Promise<void> => {
    await leave(pool, process);
    await closeCells(cells, pool);
    await pool.end();
  };
  try {
    await noteAlive(pool, process);
    const obstacle = await whyOvertaken(pool, cells.all().length);
    if (obstacle !== undefined) throw new Error(obstacle);
  } catch (error) {
    if (!isDatabaseAway(error)) {
      await close();
      throw error;
    }
    log.warn({ err: error }, "the database is away; this process serves and tries again");
  }
  return { pool, cells, connection, encryptionKey, process, close };
}
