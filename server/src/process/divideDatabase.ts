import type pg from "pg";
import { refuseWhileRunning } from "../backup/emptiness.ts";
import { openSession } from "../backup/takeSnapshot.ts";
import type { Config } from "../config/config.ts";
import { type Divided, divide } from "../postgres/divide.ts";
import { migrationLockKey } from "../postgres/migrate.ts";
import { noteAllEnded } from "../postgres/processes.ts";
import { CommandError } from "../runtime/commandError.ts";
import type { Talk } from "./databaseCommands.ts";
import { type AsItIs, openAsItIs } from "./openAsItIs.ts";
import { type StartProgress, tellProgress } from "./startProgress.ts";

/** The advisory lock of who fills tables: were the guard's session to break alone, two could fill the same. */
export const divisionLockKey = 7_281_934_020;

/** Divides the data plane of a database into cells, while no service runs. */
export async function divideDatabase(config: Config, count: number, { say, show }: Talk): Promise<void> {
  const progress = tellProgress(say);
  try {
    progress.doing("opening the database");
    const database = await openAsItIs(config, say);
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
    await lockOut(guard, migrationLockKey);
    await lockOut(filler, divisionLockKey);
    if (database.isAlone) await noteAllEnded(guard);
    await refuseWhileRunning(guard);
    return await divide({ guard, filler, doing: (what) => progress.doing(what) }, count);
  } finally {
    await Promise.allSettled([guard.end(), filler.end()]);
  }
}

/** Nobody starts who has not had the migration lock; who started before is written down as running. */
async function lockOut(client: pg.ClientBase, key: number): Promise<void> {
  const { rows } = await client.query<{ is_ours: boolean }>("select pg_try_advisory_lock($1) as is_ours", [
    key,
  ]);
  if (rows[0]!.is_ours) return;
  throw new CommandError(
    "a process starts on the database, or another divides it: try again later",
    "conflict",
  );
}

/** When this process dies, the server gives up the statement under way, where its platform lets it notice. */
async function stopSoon(client: pg.ClientBase): Promise<void> {
  await client.query("set client_connection_check_interval = '500ms'").catch(() => undefined);
}
