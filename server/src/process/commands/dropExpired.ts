import type { Config } from "../../config/config.ts";
import { dropOldPartitions, listOldDays } from "../../maintenance/dropOldPartitions.ts";
import { createClockCheck } from "../../postgres/clock.ts";
import { dayName } from "../../postgres/partitions.ts";
import { createLog } from "../../telemetry/log.ts";
import { CommandError } from "../../runtime/commandError.ts";
import type { Talk } from "./command.ts";
import { openForCommand } from "../database/openDatabase.ts";

/**
 * Shows the days past retention that the service still keeps, because it drops at most two within 24 hours. Drops them all if
 * `isConfirmed`.
 * @throws {CommandError} while the clocks of this machine and the database disagree.
 */
export async function dropExpired(config: Config, isConfirmed: boolean, { say, show }: Talk): Promise<void> {
  const log = createLog("error");
  const database = await openForCommand(config, log, { command: "postrider db drop-expired", say });
  try {
    const clock = createClockCheck({ pool: database.pool, nowMs: Date.now, log: createLog("silent") });
    const { earlierMs: nowMs, isApart } = await clock.look();
    if (isApart) throw new CommandError(clock.warning()!, "failed");
    const { retentionDays } = config;
    const onWait = sayOnce(say);
    const days = new Set<number>();
    let partitions = 0;
    for (const cell of database.cells.all()) {
      const retention = { retentionDays, nowMs, cellNumber: cell.number, isConfirmed: true, onWait };
      for (const old of await listOldDays(cell.pool, retention))
        if (old.family === "items") days.add(old.day);
      if (isConfirmed) partitions += (await dropOldPartitions(cell.pool, retention)).partitions;
    }
    const sorted = [...days].sort((one, other) => one - other).map(dayName);
    show({
      retention_days: retentionDays,
      now: new Date(nowMs).toISOString(),
      days: sorted.length,
      first_day: sorted[0] ?? null,
      last_day: sorted.at(-1) ?? null,
      dropped_partitions: partitions,
    });
    if (!isConfirmed && sorted.length > 0)
      say("nothing was dropped: add --yes to drop these days and all that they hold");
  } finally {
    await database.close();
  }
}

/** Returns a function that prints what the command waits for, whenever that changes. */
function sayOnce(say: Talk["say"]): (what: string) => void {
  let last = "";
  return (what) => {
    if (what !== last) say(`still ${what}`);
    last = what;
  };
}
