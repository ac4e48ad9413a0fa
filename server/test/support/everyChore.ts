import type pg from "pg";
import { loadConfig } from "../../src/config/config.ts";
import { noChanges } from "./idleSink.ts";
import { oneCell } from "../../src/postgres/cells.ts";
import { createClockCheck } from "../../src/postgres/clock.ts";
import { neverQuiet } from "../../src/runtime/quiet.ts";
import { allChores } from "../../src/process/chores.ts";
import { createLog } from "../../src/telemetry/log.ts";

/** Runs every chore once, as a process would whose clock is `skewMs` ahead of the database's. */
export async function runEveryChore(pool: pg.Pool, skewMs: number): Promise<void> {
  const nowMs = (): number => Date.now() + skewMs;
  const log = createLog("silent");
  const chores = allChores({
    config: loadConfig({ POSTRIDER_RETENTION_DAYS: "30", POSTRIDER_AUDIT_RETENTION_DAYS: "30" }),
    pool,
    log,
    nowMs,
    clock: createClockCheck({ pool, nowMs, log }),
    onHeldDays: () => undefined,
    changes: noChanges,
    quiet: neverQuiet,
    cells: [
      {
        cell: oneCell(pool).all()[0]!,
        handoffs: { refreshDueCards: async () => ({ cards: 0, failed: 0 }) },
        onMailboxItems: () => undefined,
        onDue: () => undefined,
      },
    ],
  });
  for (const { runOnce } of chores) await runOnce(new AbortController().signal);
}
