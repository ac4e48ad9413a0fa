import { Gauge, type Registry } from "prom-client";

/** The resources that clients hold in this process. */
export interface Load {
  connections: () => number;
  bodyBytes: () => number;
  waitingItems: () => { count: number; bytes: number };
}

/** Gauges of what bounds hold back: see `docs/operations.md`. */
export function registerLoadMetrics(registry: Registry, load: Load): void {
  const gauge = (name: string, help: string, read: () => number): void => {
    void new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
  gauge("postrider_http_connections", "Connections of clients.", load.connections);
  gauge(
    "postrider_http_body_bytes",
    "Bytes of bodies that arrive or whose request is under way.",
    load.bodyBytes,
  );
  gauge(
    "postrider_intake_waiting_items",
    "Items that wait for their batch.",
    () => load.waitingItems().count,
  );
  gauge(
    "postrider_intake_waiting_bytes",
    "Bytes of items that wait for their batch.",
    () => load.waitingItems().bytes,
  );
}
