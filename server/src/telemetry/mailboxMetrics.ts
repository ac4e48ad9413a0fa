import type pg from "pg";
import { Gauge, type Registry } from "prom-client";
import { keepReading } from "./keptReading.ts";

interface Totals {
  unread: number;
  claimed: number;
  dead: number;
  oldest_seconds: number;
}

/** Gauges over all mailboxes together, the same from every node. */
export function registerMailboxMetrics(registry: Registry, pool: pg.Pool, retentionMs: number): void {
  const totals = keepReading(() => readTotals(pool, retentionMs));
  void new Gauge({
    name: "postrider_mailbox_messages",
    help: "Messages in all mailboxes by state (claimed and dead counted up to some 100,000).",
    labelNames: ["state"],
    registers: [registry],
    async collect() {
      const present = await totals();
      if (present === undefined) return;
      for (const state of ["unread", "claimed", "dead"] as const) this.set({ state }, present[state]);
    },
  });
  void new Gauge({
    name: "postrider_mailbox_oldest_message_seconds",
    help: "Age of the oldest message that is neither acknowledged nor dead nor expired; 0 when there is none.",
    registers: [registry],
    async collect() {
      const present = await totals();
      if (present !== undefined) this.set(present.oldest_seconds);
    },
  });
}

async function readTotals(pool: pg.Pool, retentionMs: number): Promise<Totals> {
  const { rows } = await pool.query<Totals>({
    name: "measure_mailboxes",
    text: "select unread, claimed, dead, oldest_seconds from measure_mailboxes($1)",
    values: [retentionMs],
  });
  return rows[0]!;
}
