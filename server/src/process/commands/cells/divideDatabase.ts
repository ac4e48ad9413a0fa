import { refuseWhileRunning } from "../../../backup/emptiness.ts";
import { openSession } from "../../../backup/takeSnapshot.ts";
import type { Config } from "../../../config/config.ts";
import { type Divided, divide } from "../../../postgres/placement/divide.ts";
import { migrationLockKey } from "../../../postgres/migrate.ts";
import { noteAllEnded } from "../../../postgres/processes.ts";
import { isDatabaseAway } from "../../../postgres/pool.ts";
import { CommandError } from "../../../runtime/commandError.ts";
import type { Talk } from "../command.ts";
import { takeSessionLock, stopSoon } from "./onCoordinator.ts";
import { type AsItIs, openAsItIs } from "../openAsItIs.ts";
import { type StartProgress, tellProgress } from "../../database/startProgress.ts";

/**
 * Advisory lock of the session that fills the tables. If only the guard's session breaks, the guard's lock is free; then this
 * lock still keeps a second command from filling the same tables.
 */
export const divisionLockKey = 7_281_934_020;

const whoHasIt = "a process starts on the database, or another divides it";

/** Divides the data plane of a database into cells, while no service runs. */
export async function divideDatabase(config: Config, count: number, { say, show }: Talk): Promise<void> {
  const progress = tellProgress(say);
  try {
    progress.doing("opening the database");
    const database = await openAsItIs(config, { command: "postrider db divide", say });
    try {
      const divided = await divideAlone(database, count, progress);
      say(`Start the service with POSTRIDER_CELLS=${count}`);
      show({ cells: count, ...divided });
    } finally {
      progress.doing("closing the database");
      await database.close();
    }
  } finally {
    progress.end();
  }
}

async function divideAlone(database: AsItIs, count: number, progress: StartProgress): Promise<Divided> {
  const guard = await openSession(database.connection);
  const filler = await openSession(database.connection);
  try {
    for (const session of [guard, filler]) await stopSoon(session);
    // Each start takes the migration lock, so no process can start now; processes that started before are recorded as running.
    await takeSessionLock(guard, migrationLockKey, whoHasIt);
    await takeSessionLock(filler, divisionLockKey, whoHasIt);
    if (database.isAlone) await noteAllEnded(guard);
    await refuseWhileRunning(guard);
    return await divide({ guard, filler, doing: (what) => progress.doing(what) }, count);
  } catch (cause) {
    if (!isDatabaseAway(cause) || isShort(cause)) throw cause;
    // The server may have received the commit before the connection was lost.
    throw new CommandError(
      `the connection to the database was lost (${(cause as Error).message}): run the command again: it divides the database, or says that it is divided already`,
      "failed",
      { cause },
    );
  } finally {
    await Promise.allSettled([guard.end(), filler.end()]);
  }
}

/** Whether the server runs but lacks memory, disk, or time to get a lock; PostgreSQL's own message says which. */
function isShort(error: unknown): boolean {
  return /^(53|55P03|57014|40)/.test((error as { code?: string }).code ?? "");
}
