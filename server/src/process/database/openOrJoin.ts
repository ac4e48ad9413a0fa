import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { openSession } from "../../backup/takeSnapshot.ts";
import { awayReason } from "../../postgres/awayReason.ts";
import { clusterPath } from "../../postgres/embedded/cluster.ts";
import { DirectoryInUseError, findHolder, type Holder } from "../../postgres/embedded/directoryLock.ts";
import { runningConnection } from "../../postgres/embedded/runningConnection.ts";
import { type DatabaseConnection, isDatabaseAway } from "../../postgres/pool.ts";
import { CommandError } from "../../runtime/commandError.ts";

/** The command that opens a database, and its output function. */
export interface Opener {
  /** The command's name, such as `postrider backup`. */
  command: string;
  say: (line: string) => void;
  /** Whether to create a missing embedded database, as a start does; false unless given. */
  mayMake?: boolean;
}

/** The two ways to open an embedded database. */
export interface Ways<T> {
  /** Starts the database. @throws {DirectoryInUseError} at once, when another process uses the directory. */
  alone: () => Promise<T>;
  /** Uses the database of a running service. */
  join: (connection: DatabaseConnection) => Promise<T>;
}

/** How long to wait for another process: services have started or stopped by then, and most commands have ended. */
const patienceMs = 120_000;
const retryMs = 100;

/**
 * Opens the embedded database of a data directory for a command, also while a service runs on it. Waits for a starting service,
 * and for another command, whose database stops when it ends.
 * @throws {CommandError} when the directory stays in use for two minutes, when the disk of the running database is full, or when
 * there is no database and `mayMake` is false.
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
        // Another process took the directory first.
        if (!(error instanceof DirectoryInUseError)) throw error;
      }
    } else {
      const running = holder.command === undefined ? await runningConnection(dataDir) : undefined;
      if (running !== undefined && (await answers(running, dataDir))) return join(running);
      if (performance.now() > deadlineMs) throw takenFor(dataDir, holder);
      if (!isTold) say(`Waiting for ${nameOf(holder)}, which uses ${dataDir} …`);
      isTold = true;
    }
    await delay(retryMs);
  }
}

/** @throws {CommandError} when there is no database: a typo in POSTRIDER_DATA_DIR must not create a new, empty one. */
export function refuseWithoutDatabase(dataDir: string): void {
  if (existsSync(clusterPath(dataDir))) return;
  throw new CommandError(
    `there is no database in ${dataDir}: set POSTRIDER_DATA_DIR to the service's data directory`,
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
      ? `${nameOf(holder)} on ${dataDir} has not opened its database for ${seconds} s: its log says why; try again when it serves`
      : `${nameOf(holder)} has used ${dataDir} for ${seconds} s: try again when it has ended`;
  return new CommandError(text, "conflict");
}

const noSuchDatabase = "3D000";

/**
 * Whether the service's database accepts connections. A starting or stopping server does not; a new one lacks the database at
 * first.
 * @throws {CommandError} when the database's disk is full, because then waiting does not help.
 */
async function answers(connection: DatabaseConnection, dataDir: string): Promise<boolean> {
  try {
    const session = await openSession(connection);
    await session.end();
    return true;
  } catch (error) {
    if (awayReason(error) === "disk full") {
      throw new CommandError(`the disk that holds ${dataDir} is full: make room, then try again`, "failed");
    }
    if (isDatabaseAway(error) || (error as { code?: string }).code === noSuchDatabase) return false;
    throw error;
  }
}
