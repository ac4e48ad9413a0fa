import { Counter, Histogram, type Registry } from "prom-client";

export type RequestMetrics = ReturnType<typeof createRequestMetrics>;

const bucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Counts and times requests by method, route and status. Counts are kept as plain numbers until `/metrics` is requested, because
 * a look-up by three labels is slow.
 */
export function createRequestMetrics(registry: Registry) {
  const cells = new Map<string, { labels: Record<"method" | "route" | "status", string>; pending: number }>();
  void new Counter({
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
  const duration = new Histogram({
    name: "postrider_http_request_duration_seconds",
    help: "Time from a request's headers to its answer's end, by route.",
    labelNames: ["route"],
    buckets: bucketsSeconds,
    registers: [registry],
  });
  return {
    observe(method: string, route: string, status: number, durationMs: number): void {
      const key = `${method} ${route} ${status}`;
      let cell = cells.get(key);
      if (cell === undefined) {
        cell = { labels: { method, route, status: String(status) }, pending: 0 };
        cells.set(key, cell);
      }
      cell.pending++;
      duration.observe({ route }, durationMs / 1000);
    },
  };
}
