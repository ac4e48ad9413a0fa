import { closeSync } from "node:fs";
import type { FastifyListenOptions } from "fastify";
import { type Config, loadConfig } from "../config/config.ts";
import { ApiError } from "../http/contract/errors.ts";
import { diskFullError } from "../postgres/awayReason.ts";
import { within } from "../runtime/within.ts";
import { createLog } from "../telemetry/log.ts";
import type { MetricValues } from "../telemetry/metricsText.ts";
import type { Service } from "./assemble.ts";
import { fitCollectorToCores } from "./garbageCollector.ts";
import { listeningPort } from "./listening.ts";
import { runService, type ServiceRun } from "./runService.ts";
import type { FromWorker, Place, Preparation, ToWorker } from "./workers/messages.ts";
import { version } from "../config/version.ts";
import { isDatabaseAway } from "../postgres/pool.ts";
import { newProcessRecord, noteAlive, whyOvertaken } from "../postgres/processes.ts";
import { leave, type OpenDatabase, openPools, poolError } from "./database/openDatabase.ts";

/** How long `/metrics` waits for the supervisor, which itself waits a second for the other processes. */
const siblingsLimitMs = 3_000;

/**
 * Runs one of several processes of a service: prepares everything, serves when the supervisor assigns it a slot, and stops when
 * the supervisor or SIGTERM asks for it.
 */
export async function serveAsWorker(env: NodeJS.ProcessEnv): Promise<void> {
  fitCollectorToCores();
  const supervisor = listenToSupervisor();
  const { connection, encryptionKey } = await supervisor.preparation;
  const config = loadConfig(env);
  const log = createLog(config.logLevel, { everyRequest: config.logRequests, pid: process.pid });
  try {
    const joined = {
      connection,
      encryptionKey: Buffer.from(encryptionKey, "base64"),
      trouble: supervisor.trouble,
    };
    const own = { config, log };
    await runService({
      ...own,
      database: await joinDatabase(own, joined),
      stopAsked: supervisor.stopAsked,
      siblings: (values) => supervisor.siblings(values),
      instance: supervisor.place.then(({ slot }) => String(slot)),
      async listen(app) {
        await app.ready();
        const { fd, otherFds, roles } = await supervisor.place;
        // The kernel would give connections to other sockets that this process left open, and nothing would accept them.
        for (const other of otherFds) closeSync(other);
        // Fastify passes unknown options on to Node. The host only avoids a lookup of "localhost".
        await app.listen({ fd, host: "127.0.0.1" } as FastifyListenOptions);
        return { port: listeningPort(app.server.address())!, roles: new Set(roles) as Config["roles"] };
      },
      onServing(service, port) {
        supervisor.counts(service);
        const { isDashboardBuilt, leases } = service;
        tell({ say: "serves", port, isDashboardBuilt, leases });
      },
      onStopping: (reason) => tell(reason === undefined ? { say: "stopping" } : { say: "overtaken", reason }),
      onCounted: (values) => tell({ say: "counted last", values }),
    });
  } catch (error) {
    process.exitCode = 1;
    tell({ say: "failed", reason: (error as Error).message });
  } finally {
    supervisor.leave();
  }
}

function listenToSupervisor() {
  const preparation = Promise.withResolvers<Preparation>();
  const place = Promise.withResolvers<Place>();
  const stopping = Promise.withResolvers<string>();
  const answers = new Map<number, (values: MetricValues[][]) => void>();
  let ids = 0;
  let isSpare = false;
  let trouble: Error | undefined;
  let counted: Pick<Service, "metricValues"> | undefined;

  function hear(message: ToWorker): void {
    switch (message.say) {
      case "prepare":
        isSpare = true;
        preparation.resolve(message);
        break;
      case "serve":
        isSpare = false;
        place.resolve(message);
        break;
      case "stop":
        stopping.resolve("the supervisor");
        break;
      case "ping":
        tell({ say: "pong" });
        break;
      case "count":
        void counted?.metricValues().then((values) => tell({ say: "counted", id: message.id, values }));
        break;
      case "counted all":
        answers.get(message.id)?.(message.values);
        break;
      case "trouble":
        trouble = message.reason === null ? undefined : diskFullError(message.reason);
        break;
    }
  }

  process.on("message", (message) => hear(message as ToWorker));
  process.on("SIGTERM", () => {
    stopping.resolve("SIGTERM");
    // A spare could not stop before it got a slot, so the supervisor replaces it.
    if (isSpare) tell({ say: "stopping" });
  });
  return {
    preparation: preparation.promise,
    place: place.promise,
    stopAsked: stopping.promise,
    trouble: () => trouble,
    /**
     * Sends this process's metrics to the supervisor.
     * @returns the metrics of the other processes.
     * @throws {ApiError} 503 if they are late.
     */
    async siblings(own: MetricValues[]): Promise<MetricValues[][]> {
      const id = ++ids;
      const answer = Promise.withResolvers<MetricValues[][]>();
      answers.set(id, answer.resolve);
      tell({ say: "count all", id, values: own });
      const others = await within(siblingsLimitMs, answer.promise, undefined);
      answers.delete(id);
      if (others !== undefined) return others;
      throw new ApiError(503, "the other processes did not send their metrics in time");
    },
    /** From now on answers the supervisor's requests for metrics. */
    counts(service: Pick<Service, "metricValues">): void {
      counted = service;
    },
    /** Closes the channel to the supervisor, which keeps the process alive. */
    leave(): void {
      process.removeAllListeners("disconnect");
      if (process.connected) process.disconnect?.();
    },
  };
}

function tell(message: FromWorker): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

/**
 * Opens the database, whose schema the supervisor has migrated. If the database is away, the process still serves and answers
 * 503, as running processes do.
 * @throws {Error} a sentence, when this version cannot work with the database.
 */
async function joinDatabase(
  { config, log }: Pick<ServiceRun, "config" | "log">,
  joined: Required<Pick<OpenDatabase, "connection" | "encryptionKey" | "trouble">>,
): Promise<OpenDatabase> {
  const { connection, encryptionKey, trouble } = joined;
  const pools = openPools(config, { connection, onError: poolError(log), explainAway: trouble });
  const { pool, cells } = pools;
  const process = newProcessRecord(version);
  const close = async (): Promise<void> => {
    await leave(pool, process);
    await pools.close();
  };
  try {
    await noteAlive(pool, process);
    const obstacle = await whyOvertaken(pool, cells.all().length);
    if (obstacle !== undefined) throw new Error(obstacle);
  } catch (error) {
    if (!isDatabaseAway(error)) {
      await close();
      throw error;
    }
    log.warn({ err: error }, "the database is away; this process serves and tries again");
  }
  return { pool, cells, connection, encryptionKey, process, close };
}
