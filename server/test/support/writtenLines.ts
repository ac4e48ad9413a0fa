import type { ServiceProcess } from "./serviceProcess.ts";
import { until } from "./until.ts";

/**
 * What the service wrote, with the lines of every request that it had answered: the log is written in the background, and
 * this waits for the line of one more request. The service has to write a line for each (`POSTRIDER_LOG_REQUESTS`).
 */
export async function writtenSoFar(service: ServiceProcess): Promise<string> {
  const { headers } = await service.call("GET", "/api/v1/orgs");
  await until(() => service.output().includes(String(headers["x-request-id"])));
  return service.output();
}
