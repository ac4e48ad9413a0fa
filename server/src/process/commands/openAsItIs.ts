import { existsSync } from "node:fs";
import type { Config } from "../../config/config.ts";
import { clusterPath } from "../../postgres/embedded/cluster.ts";
import { findHolder, type Taking } from "../../postgres/embedded/directoryLock.ts";
import { startEmbedded } from "../../postgres/embedded/startEmbedded.ts";
import type { DatabaseConnection } from "../../postgres/pool.ts";
import { CommandError } from "../../runtime/commandError.ts";
import { openOrJoin } from "../database/openOrJoin.ts";

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
export async function openAsItIs(config: Config, { command, say }: Opener): Promise<AsItIs> {
  const { databaseUrl, dataDir } = config;
  const withoutClosing = { isAlone: false, close: () => Promise.resolve() };
  if (databaseUrl !== undefined) return { connection: { url: databaseUrl }, ...withoutClosing };
  if (!existsSync(clusterPath(dataDir)) && findHolder(dataDir) === undefined) {
    throw new CommandError(
      `there is no database in ${dataDir}: set POSTRIDER_DATA_DIR to where the service has it`,
      "notFound",
    );
  }
  return openOrJoin<AsItIs>(dataDir, say, {
    alone: () => startAlone(dataDir, { command, say, patienceMs: 0 }),
    join: (connection) => Promise.resolve({ connection, ...withoutClosing }),
  });
}

/** The command that opens a database, such as `postrider backup`, and how it talks to a person. */
export interface Opener {
  command: string;
  say: (line: string) => void;
}

/** The embedded database of a data directory for this process alone; made when there is none. */
export async function startAlone(
  dataDir: string,
  { command, say, patienceMs }: Opener & Pick<Taking, "patienceMs">,
): Promise<AsItIs> {
  const server = await startEmbedded({
    dataDir,
    log: (level, message) => (level === "info" ? undefined : say(message)),
    taking: { command, ...(patienceMs !== undefined && { patienceMs }) },
  });
  return { connection: server.connection, isAlone: true, close: () => server.stop() };
}
