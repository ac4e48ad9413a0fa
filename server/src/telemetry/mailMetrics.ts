import { Counter, type Registry } from "prom-client";

/** Counts what became of mails. */
export interface MailMetrics {
  count(outcome: "sent" | "failed"): void;
}

/** Counts mails on `registry`, also where none are sent, so that rules about them have a metric: see `docs/operations.md`. */
export function createMailMetrics(registry: Registry): MailMetrics {
  const total = new Counter({
    name: "postrider_mails_total",
    help: "Mails that the mail server took, and those that could not be sent.",
    labelNames: ["outcome"],
    registers: [registry],
  });
  for (const outcome of ["sent", "failed"]) total.inc({ outcome }, 0);
  return { count: (outcome) => total.inc({ outcome }) };
}
