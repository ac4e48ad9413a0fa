import type { Config } from "../../config/config.ts";
import type { Taking } from "../../postgres/embedded/directoryLock.ts";
import { startEmbedded } from "../../postgres/embedded/startEmbedded.ts";
import type { DatabaseConnection } from "../../postgres/pool.ts";
import { lockSettings } from "../database/lockRoom.ts";
import { type Opener, openOrJoin } from "../database/openOrJoin.ts";

/** A database that was opened without migrating its schema. */
export interface AsItIs {
  connection: DatabaseConnection;
  /** Whether the database was started for this command, so that no service uses it. */
  isAlone: boolean;
  /** Stops the database if it was started for this command. */
  close(): Promise<void>;
}

/**
 * Opens the configured database, the embedded one of a service that runs on the data directory, or else the embedded one, started
 * for this command.
 * @throws {CommandError} when the data directory has no database.
 */
export async function openAsItIs(config: Config, opener: Opener): Promise<AsItIs> {
  const { databaseUrl, dataDir } = config;
  const settings = lockSettings(config);
  const withoutClosing = { isAlone: false, close: () => Promise.resolve() };
  if (databaseUrl !== undefined) return { connection: { url: databaseUrl }, ...withoutClosing };
  return openOrJoin<AsItIs>(dataDir, opener, {
    alone: () => startAlone(dataDir, { ...opener, patienceMs: 0, settings }),
    join: (connection) => Promise.resolve({ connection, ...withoutClosing }),
  });
}

/** How a command starts the embedded database for itself. */
interface Starting extends Opener, Pick<Taking, "patienceMs"> {
  /** Settings from {@link lockSettings}; PostgreSQL's defaults unless given, which are enough for few days. */
  settings?: Record<string, string>;
}

/** Starts the embedded database of a data directory for this process alone; creates it if there is none. */
export async function startAlone(
  dataDir: string,
  { command, say, patienceMs, settings = {} }: Starting,
): Promise<AsItIs> {
  const server = await startEmbedded({
    dataDir,
    log: (level, message) => (level === "info" ? undefined : say(message)),
    settings,
    taking: { command, patienceMs },
  });
  return { connection: server.connection, isAlone: true, close: () => server.stop() };
}
