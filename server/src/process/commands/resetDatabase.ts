import { existsSync } from "node:fs";
import { dropOwnTables, refuseForeignTables, refuseWhileRunning } from "../../backup/emptiness.ts";
import { openSession } from "../../backup/takeSnapshot.ts";
import type { Config } from "../../config/config.ts";
import { migrationLockKey } from "../../postgres/migrate.ts";
import { removeEmbedded } from "../../postgres/embedded/startEmbedded.ts";
import { tryLock } from "../../postgres/pool.ts";
import { placeOf } from "../../postgres/untilServes.ts";
import type { Talk } from "./command.ts";
import { keyPath } from "../database/encryptionKey.ts";
import { unmarkMoved } from "../database/movedMarker.ts";

/** Removes everything that the service keeps in its database. */
export async function resetDatabase(config: Config, { say, show }: Talk): Promise<void> {
  if (config.databaseUrl === undefined) {
    const removed = await removeEmbedded(config.dataDir, { command: "postrider reset" });
    unmarkMoved(config.dataDir);
    if (removed && existsSync(keyPath(config.dataDir)))
      say(`The encryption key stays in ${keyPath(config.dataDir)}, for backups that were made with it`);
    show({ database: config.dataDir, removed });
    return;
  }
  const session = await openSession({ url: config.databaseUrl });
  try {
    // Starting services, restores and other resets hold this lock: while it is held here, the results of these checks stay true.
    if (!(await tryLock(session, migrationLockKey, "session"))) {
      say("Waiting for another process that changes the schema …");
      await session.query("select pg_advisory_lock($1)", [migrationLockKey]);
    }
    await refuseForeignTables(session);
    await refuseWhileRunning(session);
    const removed = await dropOwnTables(session);
    show({ database: placeOf(config.databaseUrl), removed });
  } finally {
    await session.end();
  }
}
