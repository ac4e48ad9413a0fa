import type pg from "pg";
import { Gauge, type Registry } from "prom-client";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import type { RowOf } from "../../postgres/hot/functionCall.ts";
import { gaugesOn, keepReading } from "../../telemetry/processMetrics.ts";

type Totals = RowOf<"measure_mailboxes">;

/** Gauges over all mailboxes. Every process reports the same values, so they must not be summed over processes. */
export function registerMailboxMetrics(registry: Registry, pool: pg.Pool, retentionMs: number): void {
  const totals = keepReading(() => readTotals(pool, retentionMs));
  void new Gauge({
    name: "postrider_mailbox_messages",
    help: "Messages in all mailboxes by state (claimed and dead counted up to some 100,000).",
    labelNames: ["state"],
    aggregator: "max",
    registers: [registry],
    async collect() {
      const present = await totals();
      if (present === undefined) return;
      for (const state of ["unread", "claimed", "dead"] as const) this.set({ state }, present[state] ?? 0);
    },
  });
  gaugesOn(registry)(
    "postrider_mailbox_oldest_message_seconds",
    "Age of the oldest message that is neither acknowledged nor dead nor expired; 0 when there is none.",
    async () => {
      const present = await totals();
      return present && (present.oldest_seconds ?? 0);
    },
    "max",
  );
}

async function readTotals(pool: pg.Pool, retentionMs: number): Promise<Totals> {
  const [totals] = await callFunction(pool, "measure_mailboxes", { p_retention_ms: retentionMs });
  return totals!;
}
