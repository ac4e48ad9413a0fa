import { collectDefaultMetrics, Counter, Gauge, type Metric, Registry } from "prom-client";
import { roleNames } from "../config/settings.ts";
import { singleFlight, within } from "../runtime/within.ts";

/**
 * Gauges with names that end like counters, which `promtool check metrics` rejects. The same values exist by type, without this
 * ending.
 */
const misnamed = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/**
 * Interval of samples of the event loop's lag. Each sample wakes the process; at 10 ms, they were a third of the wake-ups of an
 * idle process.
 */
const lagEveryMs = 100;

let measured: Registry | undefined;

/**
 * Adds the library's metrics of the process. They are measured once for all registries, because each measurement would start a
 * timer and an observer of garbage collections that nothing stops.
 */
export function registerProcessMetrics(registry: Registry): void {
  if (measured === undefined) {
    measured = new Registry();
    collectDefaultMetrics({ register: measured, eventLoopMonitoringPrecision: lagEveryMs });
    for (const name of misnamed) measured.removeSingleMetric(name);
  }
  for (const metric of measured.getMetricsAsArray()) registry.registerMetric(metric as unknown as Metric);
}

type Reading = number | undefined;

/**
 * Returns a function that adds a gauge, which is read at each request to `/metrics`. A gauge without a value is left out,
 * because the library would show 0, which looks like a good value. The aggregator says how the values of several processes are
 * combined: `max` for values that all of them read from the same database.
 */
export function gaugesOn(registry: Registry) {
  return (
    name: string,
    help: string,
    read: () => Reading | Promise<Reading>,
    aggregator: "sum" | "max" = "sum",
  ): void => {
    void new Gauge({
      name,
      help,
      aggregator,
      registers: [registry],
      async collect() {
        const value = await read();
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
  };
}

/**
 * Counts this process under each of its roles, so that the sum over all processes is 0 for a role that no process has.
 * @returns the function that sets the roles when the process starts its work.
 */
export function registerRoleMetric(registry: Registry): (roles: ReadonlySet<string>) => void {
  const gauge = new Gauge({
    name: "postrider_processes_with_role",
    help: "Processes that have this role; 0 over all processes means that no process does its work.",
    labelNames: ["role"],
    registers: [registry],
  });
  const tell = (roles: ReadonlySet<string>): void => {
    for (const role of roleNames) gauge.set({ role }, roles.has(role) ? 1 : 0);
  };
  tell(new Set());
  return tell;
}

/**
 * A gauge with value 1 whose labels name the cell's server and how this process reaches it; absent while the cell has no server
 * of its own.
 */
export function registerPlaceMetric(
  registry: Registry,
  read: () => { server: string; isDirect: boolean } | undefined,
): void {
  void new Gauge({
    name: "postrider_cell_server",
    help: "The server that holds the cell, and how it is reached: directly, or through the coordinator.",
    labelNames: ["server", "way"],
    aggregator: "max",
    registers: [registry],
    collect() {
      this.reset();
      const place = read();
      if (place !== undefined)
        this.set({ server: place.server, way: place.isDirect ? "direct" : "coordinator" }, 1);
    },
  });
}

/** Counts mails. The counters also exist if no mails are sent, so that alert rules find them: see `docs/operations.md`. */
export function registerMailMetric(registry: Registry): (outcome: "sent" | "failed") => void {
  const total = new Counter({
    name: "postrider_mails_total",
    help: "Mails that the mail server accepted, and mails that could not be sent.",
    labelNames: ["outcome"],
    registers: [registry],
  });
  for (const outcome of ["sent", "failed"]) total.inc({ outcome }, 0);
  return (outcome) => total.inc({ outcome });
}

/** The database is read at most this often, even if `/metrics` is requested more often. */
const readingFreshMs = 5_000;

/** Prometheus waits 10 s for a response. The other metrics must not be lost when the database does not respond. */
const readingLimitMs = 2_000;

/**
 * Caches a reading for gauges for 5 s, with single flight. While the reading fails or takes longer than two seconds, the last
 * value is returned; undefined before the first value.
 */
export function keepReading<T>(read: () => Promise<T>): () => Promise<T | undefined> {
  let readAtMs = -Infinity;
  let value: T | undefined;
  const refresh = singleFlight(async () => {
    try {
      value = await read();
      readAtMs = performance.now();
    } catch {
      // Keeps the last value.
    }
  });
  return async () => {
    if (performance.now() - readAtMs >= readingFreshMs) await within(readingLimitMs, refresh(), undefined);
    return value;
  };
}
