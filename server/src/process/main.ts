import type { Config } from "../config/config.ts";
import { createLog } from "../telemetry/log.ts";
import { greet, listenFailure, listeningPort } from "./listening.ts";
import { openUnlessStopped } from "./openUnlessStopped.ts";
import { listenForStop } from "./stopRequest.ts";

/**
 * Runs the service in this process until SIGTERM, SIGINT or SIGHUP. `say` prints a line for the person who started it.
 * @param isRunByNpm whether `npm start` started this process, so that it stops when npm ends.
 * @throws {Error} a sentence that says why the service cannot start or continue.
 */
export async function serve(config: Config, say: (line: string) => void, isRunByNpm: boolean): Promise<void> {
  const log = createLog(config.logLevel, { everyRequest: config.logRequests });
  const stop = listenForStop(say, isRunByNpm);
  // Loads most of the modules while PostgreSQL starts.
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
