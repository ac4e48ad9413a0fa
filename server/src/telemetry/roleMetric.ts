import { Gauge, type Registry } from "prom-client";
import { roleNames } from "../config/settings.ts";

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
