import type pg from "pg";
import type { Config } from "../config/config.ts";
import { type Loop, startLoop } from "../maintenance/chore.ts";
import type { Cells } from "../postgres/cells.ts";
import type { ClockCheck } from "../postgres/clock.ts";
import type { Log } from "../telemetry/log.ts";
import { suspendLapsedGraces } from "./changeStatus.ts";
import { exportUsage } from "./exportUsage.ts";
import { processEvents } from "./processEvents.ts";
import { createProcessor } from "./processor.ts";

export interface BillingWorkerDeps {
  pool: pg.Pool;
  cells: Cells;
  log: Log;
  config: Pick<Config, "billing" | "meterExportSeconds">;
  nowMs: () => number;
  clock: Pick<ClockCheck, "look">;
}

export interface BillingWorker {
  /** Says that a notice of the processor waits, so that it is processed now rather than at the next round. */
  wake(): void;
  stop(): Promise<void>;
}

const eventsEveryMs = 5_000;
const gracesEveryMs = 60_000;

/** Runs what live billing does by itself; while billing is disabled there is nothing to do but end graces. */
export function startBillingWorker(deps: BillingWorkerDeps): BillingWorker {
  const { pool, cells, log, config, nowMs, clock } = deps;
  const graces = {
    name: "lapsed graces",
    everyMs: gracesEveryMs,
    async runOnce(): Promise<Record<string, number>> {
      // By the earlier of the two clocks: a wrong one suspends nobody.
      const { earlierMs, isApart } = await clock.look();
      return isApart ? {} : { suspended: await suspendLapsedGraces(pool, Math.floor(earlierMs / 1000)) };
    },
  };
  const loops: Loop[] = [startLoop(graces, log)];
  const stopping = new AbortController();
  let events: Loop | undefined;
  if (config.billing.kind === "stripe") {
    const processor = { stripe: createProcessor(config.billing), config: config.billing };
    const work = { pool, cells, log, nowMs, signal: stopping.signal, ...processor };
    events = startLoop(
      {
        name: "billing events",
        everyMs: eventsEveryMs,
        runOnce: async () => ({ ...(await processEvents(work)) }),
      },
      log,
    );
    const usage = {
      name: "usage export",
      everyMs: config.meterExportSeconds * 1000,
      runOnce: async () => ({ ...(await exportUsage(work)) }),
    };
    loops.push(events, startLoop(usage, log));
  }
  return {
    wake: () => events?.wake(),
    async stop() {
      stopping.abort();
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}
