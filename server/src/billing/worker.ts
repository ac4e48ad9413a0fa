import type { Config } from "../config/config.ts";
import { type Loop, startLoop } from "../maintenance/chore.ts";
import type { ClockCheck } from "../postgres/clock.ts";
import { suspendLapsedGraces } from "./changeStatus.ts";
import { exportUsage } from "./exportUsage.ts";
import { processEvents } from "./processEvents.ts";
import { createProcessor } from "./processor.ts";
import type { Parts } from "../items/parts.ts";

export interface BillingWorkerDeps extends Pick<Parts, "pool" | "cells" | "log" | "nowMs"> {
  config: Pick<Config, "billing" | "meterExportSeconds">;
  clock: Pick<ClockCheck, "look">;
}

export interface BillingWorker {
  /** Starts processing notices now instead of at the next interval. */
  wake(): void;
  stop(): Promise<void>;
}

const eventsEveryMs = 5_000;
const gracesEveryMs = 60_000;

/** Runs the background work of billing; while live billing is disabled, only the end of grace periods. */
export function startBillingWorker(deps: BillingWorkerDeps): BillingWorker {
  const { pool, cells, log, config, nowMs, clock } = deps;
  const graces = {
    name: "lapsed graces",
    everyMs: gracesEveryMs,
    async runOnce(): Promise<Record<string, number>> {
      // The earlier of the two clocks decides, so that a wrong clock suspends no organization.
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
