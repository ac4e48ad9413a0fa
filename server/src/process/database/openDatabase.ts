import { setTimeout } from "node:timers/promises";
import type pg from "pg";
import type { Config } from "../../config/config.ts";
import { ignoredParameters } from "../../config/parsers.ts";
import type { Taking } from "../../postgres/embedded/directoryLock.ts";
import { startEmbedded } from "../../postgres/embedded/startEmbedded.ts";
import { makeWalAhead, segmentsThatFit } from "../../postgres/embedded/walAhead.ts";
import { type Joining, migrate } from "../../postgres/migrate.ts";
import { functionSchema } from "../../postgres/functionSchema.ts";
import { createPool, type DatabaseConnection, type PoolOptions } from "../../postgres/pool.ts";
import { newProcessRecord, noteEnd, type ProcessRecord } from "../../postgres/processes.ts";
import { explainFullDisk } from "../../postgres/embedded/serverLog.ts";
import { type Cells, closeCells, openCells } from "../../postgres/cells.ts";
import { refuseOtherCells } from "../../postgres/ensureCells.ts";
import { refuseTransactionPooling } from "../../postgres/refuseTransactionPooling.ts";
import { checkServerPromises } from "../../postgres/serverPromises.ts";
import { placeOf, untilServes } from "../../postgres/untilServes.ts";
import { roomWhenEmbedded } from "./connectionRoom.ts";
import { lockSettings } from "./lockRoom.ts";
import { embeddedKey, refuseForeignKey } from "./encryptionKey.ts";
import { refuseMoved } from "./movedMarker.ts";
import { type Opener, openOrJoin } from "./openOrJoin.ts";
import { type StartProgress, tellProgress } from "./startProgress.ts";
import { endAllLeases } from "../../delivery/rows/sweepDeliveries.ts";
import { version } from "../../config/version.ts";
import type { Log } from "../../telemetry/log.ts";

/** The database of a process, with the current schema. */
export interface OpenDatabase {
  pool: pg.Pool;
  cells: Cells;
  connection: DatabaseConnection;
  encryptionKey: Buffer;
  /** This process's row in the table of processes; absent for a command that uses the database of a running service. */
  process?: ProcessRecord;
  /** Why the embedded server is away, if its log says so. */
  trouble?: () => Error | undefined;
  close(): Promise<void>;
}

/** The database of a command, which needs no key. */
export type JoinedDatabase = Omit<OpenDatabase, "encryptionKey">;

const oldestVersion = 15;
const walAheadDelayMs = 1_000;

/** How a start reports its progress, and the signal that ends it. */
export interface Opening {
  say: (line: string) => void;
  progress: StartProgress;
  /** Called while the start waits for the embedded PostgreSQL, to do other work in that time. */
  whileWaiting?: (() => Promise<unknown>) | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Opens the configured database, or starts the embedded one; migrates its schema.
 * @throws a sentence, when the database cannot be opened, or its secrets were encrypted with another key.
 */
export async function openDatabase(config: Config, log: Log, opening: Opening): Promise<OpenDatabase> {
  const open = config.databaseUrl === undefined ? openEmbedded : openExternal;
  const database = await open(config, log, opening);
  try {
    const keys = { current: database.encryptionKey, previous: config.previousEncryptionKeys };
    await refuseForeignKey(database.pool, keys);
    await checkServerPromises(database.pool, log);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Creates the pool of a process and those of its cells, sized by the configuration unless given. Opens no connection yet. */
export function openPools(
  config: Config,
  given: Omit<PoolOptions, "size"> & Partial<PoolOptions>,
): Pick<OpenDatabase, "pool" | "cells" | "close"> {
  const options = { size: config.databasePool, isPlain: config.fastSql === "off", ...given };
  const pool = createPool(options);
  const cells = openCells(pool, Number(config.cells), options);
  return {
    pool,
    cells,
    async close() {
      await closeCells(cells, pool);
      await pool.end();
    },
  };
}

async function openEmbedded(
  config: Config,
  log: Log,
  opening: Opening,
  taking?: Taking,
): Promise<OpenDatabase> {
  refuseMoved(config.dataDir);
  opening.say(`Starting the embedded PostgreSQL in ${config.dataDir} …`);
  opening.progress.doing(`starting the embedded PostgreSQL in ${config.dataDir}`);
  const server = await startEmbedded({
    dataDir: config.dataDir,
    log: (level, message) => log[level]({}, message),
    onWait: (what) => opening.progress.doing(what),
    settings: { max_connections: String(roomWhenEmbedded(config)), ...lockSettings(config) },
    whileWaiting: opening.whileWaiting,
    signal: opening.signal,
    taking,
  });
  let isClosing = false;
  const pools = openPools(config, {
    connection: server.connection,
    onError: poolError(log, () => isClosing),
    explainAway: () => server.trouble(),
  });
  const { pool, cells } = pools;
  try {
    const process = newProcessRecord(version);
    await prepare({ pool, cells, log }, opening, { process, isAlone: true });
    const encryptionKey = await embeddedKey(config, pool);
    // No other process uses the database, so all leases belong to processes that have ended.
    let taken = 0;
    for (const cell of cells.all()) taken += await endAllLeases(cell.pool);
    if (taken > 0) log.info({ deliveries: taken }, "ended the leases of an earlier process");
    const closing = new AbortController();
    const walAhead = makeWalAheadLater(pool, log, { directory: config.dataDir, signal: closing.signal });
    return {
      pool,
      cells,
      connection: server.connection,
      encryptionKey,
      process,
      trouble: () => server.trouble(),
      async close() {
        closing.abort();
        await walAhead;
        await leave(pool, process);
        // The pools' promise resolves before their sessions have ended, so stopping the server can still break some of them.
        isClosing = true;
        await pools.close();
        await server.stop();
      },
    };
  } catch (error) {
    await pools.close();
    await server.stop();
    throw explainFullDisk(error, config.dataDir);
  }
}

/** Creates WAL segments ahead, after a delay, so as not to slow down the start; a short command ends earlier. Never rejects. */
async function makeWalAheadLater(
  pool: pg.Pool,
  log: Log,
  { directory, signal }: { directory: string; signal: AbortSignal },
): Promise<void> {
  try {
    await setTimeout(walAheadDelayMs, undefined, { signal, ref: false });
    const made = await makeWalAhead(pool, signal, await segmentsThatFit(directory));
    if (made > 0) log.info({ segments: made }, "WAL segments made ahead");
  } catch (error) {
    if (!signal.aborted)
      log.warn({ err: error }, "WAL segments could not be created ahead; commits create them");
  }
}

async function openExternal(config: Config, log: Log, opening: Opening): Promise<OpenDatabase> {
  const url = config.databaseUrl!;
  const { say, progress, signal } = opening;
  const where = placeOf(url);
  const ignored = ignoredParameters(url);
  if (ignored.length > 0)
    log.warn({}, `parameters of DATABASE_URL that have no effect: ${ignored.join(", ")}`);
  const connection = { url };
  const pools = openPools(config, { connection, onError: poolError(log) });
  const { pool, cells } = pools;
  const onWait = (why: string): void => {
    say(`Waiting for the database of DATABASE_URL (${where}): ${why}`);
    progress.doing(`waiting for the database of DATABASE_URL (${where}): ${why}`);
  };
  progress.doing(`opening the database of DATABASE_URL (${where})`);
  const process = newProcessRecord(version);
  const open = async (): Promise<void> => {
    await refuseTransactionPooling(url);
    await checkVersion(pool);
    await prepare({ pool, cells, log }, opening, { process, isAlone: false });
  };
  try {
    await untilServes(open, { where, onWait, signal });
    return {
      pool,
      cells,
      connection,
      encryptionKey: config.encryptionKey!,
      process,
      async close() {
        await leave(pool, process);
        await pools.close();
      },
    };
  } catch (error) {
    await pools.close();
    throw error;
  }
}

/**
 * Opens the database for a short command: the configured one, the one of a service that runs on the data directory,
 * or, when none runs, the embedded one for as long as the command takes.
 */
export async function openForCommand(config: Config, log: Log, opener: Opener): Promise<JoinedDatabase> {
  const { command, say } = opener;
  const progress = tellProgress(say);
  const opening = { say, progress };
  try {
    if (config.databaseUrl !== undefined) return await openExternal(config, log, opening);
    return await openOrJoin<JoinedDatabase>(config.dataDir, opener, {
      alone: () => openEmbedded(config, log, opening, { command, patienceMs: 0 }),
      join: (connection) => joinService(config, log, opening, connection),
    });
  } finally {
    progress.end();
  }
}

async function joinService(
  config: Config,
  log: Log,
  opening: Opening,
  connection: DatabaseConnection,
): Promise<JoinedDatabase> {
  const pools = openPools(config, { connection, size: 2, onError: poolError(log) });
  const { pool, cells } = pools;
  try {
    const { rows } = await pool.query<{ is_ready: boolean }>(
      "select to_regclass('processes') is not null and to_regnamespace($1) is not null as is_ready",
      [functionSchema],
    );
    // The service has just created the database, or is of another version. `prepare` waits until the service has created the
    // schema too.
    if (!rows[0]!.is_ready) await prepare({ pool, cells, log }, opening);
    else await refuseOtherCells(pool, cells.all().length);
    return { ...pools, connection };
  } catch (error) {
    await pools.close();
    throw error;
  }
}

/** @throws {Error} a sentence when the server is too old. */
export async function checkVersion(server: pg.Pool | pg.ClientBase): Promise<void> {
  const { rows } = await server.query<{ version: number }>(
    "select current_setting('server_version_num')::integer as version",
  );
  const major = Math.floor(rows[0]!.version / 10_000);
  if (major < oldestVersion)
    throw new Error(`PostgreSQL ${major} is too old: Postrider needs ${oldestVersion} or newer`);
}

async function prepare(
  { pool, cells, log }: { pool: pg.Pool; cells: Cells; log: Log },
  { progress, signal }: Opening,
  joining?: Joining,
): Promise<void> {
  progress.doing("bringing the schema up to date");
  const onWait = (why: string): void => {
    signal?.throwIfAborted();
    progress.doing(why);
    log.info({}, `bringing the schema up to date: still ${why}`);
  };
  const applied = await migrate(pool, { joining, cells: cells.all().length, onWait });
  if (applied.length > 0) log.info({ applied }, "schema brought up to date");
}

/** Records the end of the process, which would otherwise count as running for another minute. Never rejects. */
export async function leave(pool: pg.Pool, process: ProcessRecord): Promise<void> {
  await noteEnd(pool, process).catch(() => undefined);
}

export function poolError(log: Log, isClosing: () => boolean = () => false): (error: Error) => void {
  return (error) => {
    if (!isClosing()) log.warn({ err: error }, "a database connection was lost; another takes its place");
  };
}
