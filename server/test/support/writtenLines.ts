import type { ServiceProcess } from "./serviceProcess.ts";
import { until } from "./until.ts";

/**
 * What the service wrote, with the lines of every request that it had answered: the log is written in the background. It
 * waits for the line of one more request, which is refused as nobody's fault.
 */
export async function writtenSoFar(service: ServiceProcess): Promise<string> {
  const count = (): number => service.output().split("live billing is disabled").length;
  const before = count();
  await service.call("POST", "/api/v1/billing/webhook", { body: {} });
  await until(() => count() > before);
  return service.output();
}
