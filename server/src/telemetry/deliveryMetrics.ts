import { Counter, Histogram, type Registry } from "prom-client";
import { gaugesOn } from "./processMetrics.ts";

export interface DeliveryGauges {
  inFlight: () => number;
  /** Requests in flight to unproven targets: untried or hanging ones. */
  inFlightUnproven: () => number;
  inMemory: () => number;
  openCircuits: () => number;
}

const attemptBucketsSeconds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30];
const latencyBucketsSeconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300, 3_600, 86_400];

export type DeliveryMetrics = ReturnType<typeof createDeliveryMetrics>;

/** Creates the metrics of attempts and of the deliveries that a node holds in memory. */
export function createDeliveryMetrics(registry: Registry, gauges: DeliveryGauges) {
  const registers = [registry];
  const counts = new Map<string, Map<string, { pending: number }>>();
  void new Counter({
    name: "postrider_attempts_total",
    help: "Attempts made, by kind of target and outcome.",
    labelNames: ["kind", "outcome"],
    registers,
    collect() {
      for (const [kind, outcomes] of counts) {
        for (const [outcome, cell] of outcomes) {
          if (cell.pending > 0) this.inc({ kind, outcome }, cell.pending);
          cell.pending = 0;
        }
      }
    },
  });
  const duration = new Histogram({
    name: "postrider_attempt_duration_seconds",
    help: "Duration of an attempt, from sending to the end of the answer.",
    buckets: attemptBucketsSeconds,
    registers,
  });
  const latency = new Histogram({
    name: "postrider_delivery_latency_seconds",
    help: "Time from an item's acceptance to its delivery.",
    buckets: latencyBucketsSeconds,
    registers,
  });
  const claimed = new Counter({
    name: "postrider_claimed_total",
    help: "Deliveries taken through the claim path rather than from memory.",
    registers,
  });
  const gauge = gaugesOn(registry);
  gauge("postrider_deliveries_in_flight", "Attempts in flight on this node.", gauges.inFlight);
  gauge(
    "postrider_deliveries_in_flight_unproven",
    "Attempts in flight to targets that are untried on this node, or hanging.",
    gauges.inFlightUnproven,
  );
  gauge(
    "postrider_deliveries_in_memory",
    "Leased deliveries that wait in this node's memory.",
    gauges.inMemory,
  );
  gauge(
    "postrider_open_circuits",
    "Targets whose circuit breaker is open on this node.",
    gauges.openCircuits,
  );

  return {
    attempt(kind: string, outcome: string, durationMs: number): void {
      let outcomes = counts.get(kind);
      if (outcomes === undefined) counts.set(kind, (outcomes = new Map<string, { pending: number }>()));
      let cell = outcomes.get(outcome);
      if (cell === undefined) outcomes.set(outcome, (cell = { pending: 0 }));
      cell.pending++;
      duration.observe(durationMs / 1000);
    },
    /** Milliseconds from acceptance to the end of the successful attempt. */
    delivered: (latencyMs: number) => latency.observe(latencyMs / 1000),
    claimed: (count: number) => claimed.inc(count),
  };
}

export type HandoffMetrics = ReturnType<typeof createHandoffMetrics>;

/** Creates the counter of polls of agents' tasks. */
export function createHandoffMetrics(registry: Registry) {
  const looks = new Counter({
    name: "postrider_task_looks_total",
    help: "Polls of agents' tasks, by result.",
    labelNames: ["look"],
    registers: [registry],
  });
  /** The result of one poll: unchanged, changed, ended, missing, unreadable, trouble or dropped. */
  return { looked: (look: string) => looks.inc({ look }) };
}
