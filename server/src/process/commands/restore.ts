import { statSync } from "node:fs";
import { readBackup, verifyBackup } from "../../backup/backupFile.ts";
import { load, type Loaded, type Mark } from "../../backup/load.ts";
import type { Contents, Manifest } from "../../backup/parts.ts";
import { fingerprintOf, openSession } from "../../backup/takeSnapshot.ts";
import type { Config } from "../../config/config.ts";
import { type Cells, closeCells, openCells } from "../../postgres/cells.ts";
import { presentCells } from "../../postgres/ensureCells.ts";
import { endAllLeases } from "../../delivery/rows/sweepDeliveries.ts";
import { migrate } from "../../postgres/migrate.ts";
import { createPool, type DatabaseConnection } from "../../postgres/pool.ts";
import { CommandError } from "../../runtime/commandError.ts";
import type { Talk } from "./command.ts";
import { existingKey, keyPath } from "../database/encryptionKey.ts";
import { lockSettings } from "../database/lockRoom.ts";
import { refuseMoved } from "../database/movedMarker.ts";
import { startAlone } from "./openAsItIs.ts";

/** Loads a backup into an empty database: the embedded one, or that of DATABASE_URL. */
export async function restore(config: Config, path: string, { say, show }: Talk): Promise<void> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new CommandError(`there is no file ${path}`, "notFound");
  // A pipe would be empty when read a second time, or block forever.
  if (!found.isFile())
    throw new CommandError(
      `${path} is a pipe, a folder or a device: a backup has to be a file, because it is read twice`,
      "failed",
    );
  say(`Verifying ${path} …`);
  const manifest = await verifyBackup(path);
  checkKey(config, manifest);
  if (config.databaseUrl === undefined) refuseMoved(config.dataDir);
  const database =
    config.databaseUrl === undefined
      ? await startAlone(config.dataDir, {
          command: "postrider restore",
          say,
          settings: lockSettings(config, partitionsOf(manifest)),
        })
      : { connection: { url: config.databaseUrl }, close: () => Promise.resolve() };
  try {
    const loaded = await loadInto(database.connection, await readBackup(path));
    const cells = manifest.cells?.length ?? 1;
    if (String(cells) !== config.cells)
      say(
        `The backup is of a database with ${cellsText(cells)}: start the service with POSTRIDER_CELLS=${cells}`,
      );
    show({ file: path, created_at: manifest.created_at, ...loaded });
  } finally {
    await database.close();
  }
}

/** Loads a backup, migrates its schema, and ends its leases, whose processes do not use this database. */
export async function loadInto(
  connection: DatabaseConnection,
  contents: Contents,
  mark?: Mark,
): Promise<Loaded> {
  const session = await openSession(connection);
  let loaded: Loaded;
  try {
    loaded = await load(session, contents, mark);
  } finally {
    await session.end();
  }
  await bringUpToDate(connection);
  return loaded;
}

/** Migrates the schema of loaded rows, and ends all leases, unless a service has already run there, whose leases they may be. */
export async function bringUpToDate(connection: DatabaseConnection): Promise<void> {
  const options = { connection, size: 2, onError: () => undefined };
  const pool = createPool(options);
  let cells: Cells | undefined;
  try {
    const count = Math.max(1, (await presentCells(pool)).length);
    cells = openCells(pool, count, options);
    await migrate(pool, { cells: count });
    const { rowCount } = await pool.query("select from processes limit 1");
    if (rowCount !== 0) return;
    for (const cell of cells.all()) await endAllLeases(cell.pool);
  } finally {
    if (cells !== undefined) await closeCells(cells, pool);
    await pool.end();
  }
}

function partitionsOf({ tables, cells = [] }: Manifest): number {
  return [{ tables }, ...cells]
    .flatMap((one) => one.tables)
    .reduce((sum, { partitions }) => sum + partitions.length, 0);
}

function cellsText(count: number): string {
  return count === 1 ? "one cell" : `${count} cells`;
}

/** @throws {CommandError} when the encryption key is not the backup's: with another key every secret would be unreadable. */
function checkKey({ encryptionKey, dataDir, databaseUrl }: Config, { key_fingerprint }: Manifest): void {
  const key = encryptionKey ?? (databaseUrl === undefined ? existingKey(dataDir) : undefined);
  const place = `POSTRIDER_ENCRYPTION_KEY${databaseUrl === undefined ? ` or ${keyPath(dataDir)}` : ""}`;
  if (key === undefined) {
    throw new CommandError(
      `the backup's secrets are encrypted with the key ${key_fingerprint}, which is not configured: set it with ${place}`,
      "credential",
    );
  }
  const found = fingerprintOf(key);
  if (found === key_fingerprint) return;
  throw new CommandError(
    `the backup's secrets are encrypted with the key ${key_fingerprint}, but the configured key is ${found}: set the former with ${place}`,
    "credential",
  );
}
