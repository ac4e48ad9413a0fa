import type { Config } from "../config/config.ts";
import { type Chore, startLoop, trimming } from "../maintenance/chore.ts";
import type { ClockCheck } from "../postgres/clock.ts";
import { suspendLapsedGraces } from "./changeStatus.ts";
import { exportUsage } from "./exportUsage.ts";
import { forgetBatches } from "./meterBatches.ts";
import { processEvents } from "./processEvents.ts";
import { createProcessor } from "./processor.ts";
import type { Parts } from "../items/parts.ts";

export interface BillingWorkerDeps extends Pick<Parts, "pool" | "cells" | "log" | "nowMs"> {
  config: Pick<Config, "billing" | "meterExportSeconds">;
  clock: Pick<ClockCheck, "look">;
}

export type BillingWorker = ReturnType<typeof startBillingWorker>;

const eventsName = "billing events";
const eventsEveryMs = 5_000;
const gracesEveryMs = 60_000;
const forgettingEveryMs = 30 * 60_000;

/** Runs the background work of billing; while live billing is disabled, only the end of grace periods. */
export function startBillingWorker(deps: BillingWorkerDeps) {
  const stopping = new AbortController();
  const chores = billingChores(deps, stopping.signal).map((chore) => ({
    chore,
    loop: startLoop(chore, deps.log),
  }));
  return {
    /** Starts processing notices now instead of at the next interval. */
    wake: () => chores.find(({ chore }) => chore.name === eventsName)?.loop.wake(),
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(chores.map(({ loop }) => loop.stop()));
    },
  };
}

/**
 * The chores of billing. They pause while this process's clock and the database's are a minute apart: a wrong clock would end
 * grace periods that have just begun, and give usage timestamps that the processor refuses.
 */
export function billingChores(
  { pool, cells, log, config, nowMs, clock }: BillingWorkerDeps,
  signal: AbortSignal,
): Chore[] {
  const guarded = (name: string, everyMs: number, run: (earlierMs: number) => Promise<object>): Chore => ({
    name,
    everyMs,
    runOnce: trimming(clock, async (earlierMs) => ({ ...(await run(earlierMs)) })),
  });
  const graces = guarded("lapsed graces", gracesEveryMs, async (earlierMs) => ({
    suspended: await suspendLapsedGraces(pool, Math.floor(earlierMs / 1000)),
  }));
  if (config.billing.kind !== "stripe") return [graces];
  const processor = { stripe: createProcessor(config.billing), config: config.billing };
  const work = { pool, cells, log, nowMs, signal, ...processor };
  return [
    graces,
    guarded(eventsName, eventsEveryMs, () => processEvents(work)),
    guarded("usage export", config.meterExportSeconds * 1000, () => exportUsage(work)),
    guarded("exported usage of earlier months", forgettingEveryMs, async (earlierMs) => ({
      batches: await forgetBatches(pool, Math.floor(earlierMs / 1000)),
    })),
  ];
}
