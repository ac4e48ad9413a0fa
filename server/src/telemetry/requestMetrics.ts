import { Counter, type Registry } from "prom-client";
import { createLabelledHistogram, type Series } from "./histogram.ts";

/** Counts and times requests by method, route and status. */
export interface RequestMetrics {
  observe(method: string, route: string, status: number, durationMs: number): void;
}

const bucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Request metrics on `registry`. Observations are kept in plain counters and handed over when `/metrics` is
 * read, because the registry's own label look-up costs more than the rest of the hook.
 */
export function createRequestMetrics(registry: Registry): RequestMetrics {
  const cells = new Map<string, Cell>();
  const total = new Counter({
    name: "postrider_http_requests_total",
    help: "Requests answered, by method, route and status.",
    labelNames: ["method", "route", "status"],
    registers: [registry],
    collect() {
      for (const cell of cells.values()) {
        if (cell.pending === 0) continue;
        this.inc(cell.labels, cell.pending);
        cell.pending = 0;
      }
    },
  });
  const durationOf = createLabelledHistogram(
    {
      name: "postrider_http_request_duration_seconds",
      help: "Time from a request's headers to its answer's end, by route.",
      buckets: bucketsSeconds,
      registry,
    },
    "route",
  );
  void total;
  return {
    observe(method, route, status, durationMs) {
      const key = `${method} ${route} ${status}`;
      let cell = cells.get(key);
      if (cell === undefined) {
        cell = {
          labels: { method, route, status: String(status) },
          pending: 0,
          duration: durationOf(route),
        };
        cells.set(key, cell);
      }
      cell.pending++;
      cell.duration.observe(durationMs / 1000);
    },
  };
}

interface Cell {
  labels: { method: string; route: string; status: string };
  pending: number;
  duration: Series;
}
