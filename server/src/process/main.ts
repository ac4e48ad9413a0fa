import type { Config } from "../config/config.ts";
import { createLog } from "../telemetry/log.ts";
import { greet, listenFailure, listeningPort } from "./listening.ts";
import { openUnlessStopped } from "./openUnlessStopped.ts";
import { listenForStop } from "./stopRequest.ts";

/**
 * Runs the service in this process until SIGTERM, SIGINT or SIGHUP. `say` shows a line to the person who started it.
 * @param isRunByNpm whether the process that started this one is `npm start`, whose end is this one's.
 * @throws what keeps it from starting, as a sentence.
 */
export async function serve(config: Config, say: (line: string) => void, isRunByNpm: boolean): Promise<void> {
  const log = createLog(config.logLevel, { everyRequest: config.logRequests });
  const stop = listenForStop(say, isRunByNpm);
  // Most of the modules, loaded while PostgreSQL starts.
  const load = () => import("./runService.ts");
  const database = await openUnlessStopped(config, log, { say, stop, whileWaiting: load });
  if (database === undefined) return;
  const { runService } = await load().catch(async (cause: unknown) => {
    await database.close();
    throw cause;
  });
  await runService({
    config,
    log,
    database,
    stopAsked: stop.asked,
    async listen(app) {
      try {
        await app.listen({ port: config.port, host: config.host });
      } catch (cause) {
        throw new Error(listenFailure(config, cause as NodeJS.ErrnoException), { cause });
      }
      return { port: listeningPort(app.server.address()) ?? config.port, roles: config.roles };
    },
    onServing: ({ isDashboardBuilt }, port) => greet(config, { port, isDashboardBuilt }, say),
  });
}
