import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { openSession } from "../../backup/takeSnapshot.ts";
import { clusterPath } from "../../postgres/embedded/cluster.ts";
import { DirectoryInUseError, findHolder, type Holder } from "../../postgres/embedded/directoryLock.ts";
import { runningConnection } from "../../postgres/embedded/runningConnection.ts";
import { type DatabaseConnection, isDatabaseAway } from "../../postgres/pool.ts";
import { CommandError } from "../../runtime/commandError.ts";

/** The command that opens a database, and how it talks to a person. */
export interface Opener {
  /** Such as `postrider backup`. */
  command: string;
  say: (line: string) => void;
  /** Whether it makes the embedded database where there is none, as a start does; not unless given. */
  mayMake?: boolean;
}

/** The two ways to an embedded database. */
export interface Ways<T> {
  /** Starts it. @throws {DirectoryInUseError} at once when another process has the directory. */
  alone: () => Promise<T>;
  /** Uses that of a service that runs. */
  join: (connection: DatabaseConnection) => Promise<T>;
}

/** A service that starts or stops, and most commands, have ended it by then. */
const patienceMs = 120_000;
const retryMs = 100;

/**
 * Opens the embedded database of a data directory for a command, beside a service that runs on it. Waits for a service that is
 * starting, and for another command, whose database ends with it.
 * @throws {CommandError} when the directory is taken for two minutes, or has no database and may get none.
 */
export async function openOrJoin<T>(
  dataDir: string,
  { say, mayMake = false }: Pick<Opener, "say" | "mayMake">,
  { alone, join }: Ways<T>,
): Promise<T> {
  const deadlineMs = performance.now() + patienceMs;
  let isTold = false;
  for (;;) {
    const holder = findHolder(dataDir);
    if (holder === undefined) {
      if (!mayMake) refuseWithoutDatabase(dataDir);
      try {
        return await alone();
      } catch (error) {
        // Another process was faster.
        if (!(error instanceof DirectoryInUseError)) throw error;
      }
    } else {
      const running = holder.command === undefined ? await runningConnection(dataDir) : undefined;
      if (running !== undefined && (await answers(running))) return join(running);
      if (performance.now() > deadlineMs) throw takenFor(dataDir, holder);
      if (!isTold) say(`Waiting for ${nameOf(holder)}, which uses ${dataDir} …`);
      isTold = true;
    }
    await delay(retryMs);
  }
}

/** A mistake in POSTRIDER_DATA_DIR must not make a database, in which nothing is found. @throws {CommandError} */
export function refuseWithoutDatabase(dataDir: string): void {
  if (existsSync(clusterPath(dataDir))) return;
  throw new CommandError(
    `there is no database in ${dataDir}: set POSTRIDER_DATA_DIR to where the service has it`,
    "notFound",
  );
}

function nameOf({ command, pid }: Holder): string {
  return `${command ?? "the service"} (process ${pid ?? "unknown"})`;
}

function takenFor(dataDir: string, holder: Holder): CommandError {
  const seconds = patienceMs / 1_000;
  const text =
    holder.command === undefined
      ? `${nameOf(holder)} on ${dataDir} has had no database for ${seconds} s: its log says why; try again when it serves`
      : `${nameOf(holder)} has used ${dataDir} for ${seconds} s: try again when it has ended`;
  return new CommandError(text, "conflict");
}

const noSuchDatabase = "3D000";

/** Without an answer the server starts, stops, or is gone. A new one serves before it has the service's database. */
async function answers(connection: DatabaseConnection): Promise<boolean> {
  try {
    const session = await openSession(connection);
    await session.end();
    return true;
  } catch (error) {
    if (isDatabaseAway(error) || (error as { code?: string }).code === noSuchDatabase) return false;
    throw error;
  }
}
