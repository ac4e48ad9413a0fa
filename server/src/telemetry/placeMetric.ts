import { Gauge, type Registry } from "prom-client";

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
