import { existsSync } from "node:fs";
import type { Config } from "../../config/config.ts";
import { clusterPath } from "../../postgres/embedded/cluster.ts";
import { runningConnection } from "../../postgres/embedded/runningConnection.ts";
import { startEmbedded } from "../../postgres/embedded/startEmbedded.ts";
import { type DatabaseConnection, isDatabaseAway } from "../../postgres/pool.ts";
import { openSession } from "../../backup/takeSnapshot.ts";
import { CommandError } from "../../runtime/commandError.ts";

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
export async function openAsItIs(config: Config, say: (line: string) => void): Promise<AsItIs> {
  if (config.databaseUrl !== undefined) {
    return { connection: { url: config.databaseUrl }, isAlone: false, close: () => Promise.resolve() };
  }
  const running = await runningConnection(config.dataDir);
  if (running !== undefined && (await answers(running))) {
    return { connection: running, isAlone: false, close: () => Promise.resolve() };
  }
  if (!existsSync(clusterPath(config.dataDir))) {
    throw new CommandError(
      `there is no database in ${config.dataDir}: set POSTRIDER_DATA_DIR to where the service has it`,
      "notFound",
    );
  }
  return startAlone(config.dataDir, say);
}

/** The embedded database of a data directory for this process alone; made when there is none. */
export async function startAlone(dataDir: string, say: (line: string) => void): Promise<AsItIs> {
  const server = await startEmbedded({
    dataDir,
    log: (level, message) => (level === "info" ? undefined : say(message)),
  });
  return { connection: server.connection, isAlone: true, close: () => server.stop() };
}

/** Without an answer it is the record of a server that is gone. */
async function answers(connection: DatabaseConnection): Promise<boolean> {
  try {
    const session = await openSession(connection);
    await session.end();
    return true;
  } catch (error) {
    if (isDatabaseAway(error)) return false;
    throw error;
  }
}
