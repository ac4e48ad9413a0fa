import type { Config } from "../../config/config.ts";
import type { Taking } from "../../postgres/embedded/directoryLock.ts";
import { startEmbedded } from "../../postgres/embedded/startEmbedded.ts";
import type { DatabaseConnection } from "../../postgres/pool.ts";
import { lockSettings } from "../database/lockRoom.ts";
import { type Opener, openOrJoin } from "../database/openOrJoin.ts";

/** A database whose schema stays as it is. */
export interface AsItIs {
  connection: DatabaseConnection;
  /** It was started for this, so no service runs on it. */
  isAlone: boolean;
  /** Leaves it, and stops it if it was started for this. */
  close(): Promise<void>;
}

/**
 * The configured database, that of a service which runs on the data directory, or the embedded one, started for this.
 * @throws {CommandError} when the data directory has none.
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
  /** As {@link lockSettings} gives them; those of few days unless given. */
  settings?: Record<string, string>;
}

/** The embedded database of a data directory for this process alone; made when there is none. */
export async function startAlone(
  dataDir: string,
  { command, say, patienceMs, settings = {} }: Starting,
): Promise<AsItIs> {
  const server = await startEmbedded({
    dataDir,
    log: (level, message) => (level === "info" ? undefined : say(message)),
    settings,
    taking: { command, ...(patienceMs !== undefined && { patienceMs }) },
  });
  return { connection: server.connection, isAlone: true, close: () => server.stop() };
}
