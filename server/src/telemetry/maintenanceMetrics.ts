import { Gauge, type Registry } from "prom-client";

/** Reasons for maintenance to pause or to skip. */
export interface MaintenanceState {
  /** By how many milliseconds this process's clock is ahead of its database's. */
  skewMs: () => number;
  /** Days past retention that were not dropped yet. */
  heldDays: () => number;
}

/** Gauges of what keeps maintenance from deleting: see `docs/operations.md`. */
export function registerMaintenanceMetrics(registry: Registry, state: MaintenanceState): void {
  void new Gauge({
    name: "postrider_clock_skew_seconds",
    help: "By how much this process's clock is ahead of its database's; negative when it is behind.",
    aggregator: "max",
    registers: [registry],
    collect() {
      this.set(state.skewMs() / 1000);
    },
  });
  void new Gauge({
    name: "postrider_retention_held_partitions",
    help: "Days past retention that are kept, because more than two would be dropped within 24 hours.",
    aggregator: "max",
    registers: [registry],
    collect() {
      this.set(state.heldDays());
    },
  });
}
