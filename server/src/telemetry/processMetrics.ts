import { collectDefaultMetrics, Counter, Gauge, type Metric, Registry } from "prom-client";
import { roleNames } from "../config/settings.ts";
import { singleFlight, within } from "../runtime/within.ts";

/** Gauges that end like counters, which `promtool check metrics` refuses; the same without the end are there, by type. */
const misnamed = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/** How often the lag of the event loop is sampled. Each sample wakes the process, which 10 ms made a third of its wake-ups when idle. */
const lagEveryMs = 100;

let measured: Registry | undefined;

/**
 * Adds what the library says of the process. It is measured once, whatever registries there are: each measuring would start a
 * timer and an observer of collections, which nothing ends.
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
 * Gives a function that adds a gauge, which is read whenever `/metrics` is. Without a value it is left out: the library would show 0,
 * which would say that all is well. The aggregator says how the values of several processes become one: `max` for what all of them
 * read from the same database.
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
 * Counts this process under each of its roles, so that the sum over all processes is 0 for a role that none has.
 * @returns the function that is told the roles when the process starts its work.
 */
export function registerRoleMetric(registry: Registry): (roles: ReadonlySet<string>) => void {
  const gauge = new Gauge({
    name: "postrider_processes_with_role",
    help: "Processes that have this role; 0 over all processes means that nobody does its work.",
    labelNames: ["role"],
    registers: [registry],
  });
  const tell = (roles: ReadonlySet<string>): void => {
    for (const role of roleNames) gauge.set({ role }, roles.has(role) ? 1 : 0);
  };
  tell(new Set());
  return tell;
}

/** A gauge that is 1 for where a cell is and how this process reaches it; absent while the cell is on no server of its own. */
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

/** Counts mails, also where none are sent, so that rules about them have a metric: see `docs/operations.md`. */
export function registerMailMetric(registry: Registry): (outcome: "sent" | "failed") => void {
  const total = new Counter({
    name: "postrider_mails_total",
    help: "Mails that the mail server took, and those that could not be sent.",
    labelNames: ["outcome"],
    registers: [registry],
  });
  for (const outcome of ["sent", "failed"]) total.inc({ outcome }, 0);
  return (outcome) => total.inc({ outcome });
}

/** Asked at most this often, however often `/metrics` is read. */
const readingFreshMs = 5_000;

/** Prometheus waits 10 s for an answer: the other metrics must not be lost with those that a frozen database would have to tell. */
const readingLimitMs = 2_000;

/**
 * Caches a reading for gauges for 5 s, with single flight. While it cannot be read, or takes longer than two seconds, the last value
 * stands; undefined before the first.
 */
export function keepReading<T>(read: () => Promise<T>): () => Promise<T | undefined> {
  let readAtMs = -Infinity;
  let value: T | undefined;
  const refresh = singleFlight(async () => {
    try {
      value = await read();
      readAtMs = performance.now();
    } catch {
      // The last value stands.
    }
  });
  return async () => {
    if (performance.now() - readAtMs >= readingFreshMs) await within(readingLimitMs, refresh(), undefined);
    return value;
  };
}
