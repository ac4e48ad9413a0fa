import { dropOwnTables, refuseForeignTables, refuseWhileRunning } from "../../backup/emptiness.ts";
import { openSession } from "../../backup/takeSnapshot.ts";
import type { Config } from "../../config/config.ts";
import { removeEmbedded } from "../../postgres/embedded/startEmbedded.ts";
import { placeOf } from "../../postgres/untilServes.ts";
import type { Talk } from "./command.ts";
import { keyPath } from "../database/encryptionKey.ts";
import { unmarkMoved } from "../database/movedMarker.ts";

/** Removes everything that the service keeps in its database. */
export async function resetDatabase(config: Config, { say, show }: Talk): Promise<void> {
  if (config.databaseUrl === undefined) {
    const removed = await removeEmbedded(config.dataDir, { command: "postrider reset" });
    unmarkMoved(config.dataDir);
    if (removed)
      say(`The encryption key stays in ${keyPath(config.dataDir)}, for backups that were made with it`);
    show({ database: config.dataDir, removed });
    return;
  }
  const session = await openSession({ url: config.databaseUrl });
  try {
    await refuseForeignTables(session);
    await refuseWhileRunning(session);
    const removed = await dropOwnTables(session);
    show({ database: placeOf(config.databaseUrl), removed });
  } finally {
    await session.end();
  }
}
