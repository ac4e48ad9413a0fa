import { Counter, type Registry } from "prom-client";

/** Counts looks at the tasks of agents. */
export interface HandoffMetrics {
  /** One look: unchanged, changed, ended, missing, trouble or dropped. */
  looked(look: string): void;
}

export function createHandoffMetrics(registry: Registry): HandoffMetrics {
  const looks = new Counter({
    name: "postrider_task_looks_total",
    help: "Looks at agents' tasks, by what they came to.",
    labelNames: ["look"],
    registers: [registry],
  });
  return { looked: (look) => looks.inc({ look }) };
}
