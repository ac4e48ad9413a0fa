import type { ServiceProcess } from "./serviceProcess.ts";
import { until } from "./until.ts";

/**
 * The service's output with the log lines of all requests answered so far: the log is written in the background,
 * so this function sends one more request and waits for its line. The service has to log every request
 * (`POSTRIDER_LOG_REQUESTS`).
 */
export async function writtenSoFar(service: ServiceProcess): Promise<string> {
  const { headers } = await service.call("GET", "/api/v1/orgs");
  await until(() => service.output().includes(String(headers["x-request-id"])));
  return service.output();
}
