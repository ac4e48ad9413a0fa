import { flushCompileCache } from "node:module";
import { setTimeout as delay } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import type { Config } from "../config/config.ts";
import { version } from "../config/version.ts";
import type { Log } from "../telemetry/log.ts";
import type { MetricValues } from "../telemetry/metricsText.ts";
import type { Telemetry } from "../telemetry/traces.ts";
import { telemetryChoice } from "../telemetry/telemetryChoice.ts";
import { createService, type Service, type ServiceDeps } from "./assemble.ts";
import type { OpenDatabase } from "./database/openDatabase.ts";
import { endBy } from "./stopRequest.ts";

/** How long a process may take to stop. Deliveries that it still holds then are taken over when their leases lapse. */
const stopLimitMs = 25_000;
/** How long an overtaken process answers `/readyz` with the reason before it ends, so that load balancers notice. */
const overtakenNoticeMs = 5_000;

/** The parts of one running process that differ between a single process and a worker. */
export interface ServiceRun {
  config: Config;
  log: Log;
  /** Closed in the end. */
  database: OpenDatabase;
  /** Resolves with what asked the process to stop. */
  stopAsked: Promise<string>;
  /** Which of the service's processes this is, once that is known; absent for the only one. */
  instance?: Promise<string>;
  /** Opens the port, and tells its number and the roles of this process. */
  listen: (app: FastifyInstance) => Promise<{ port: number; roles: Config["roles"] }>;
  /** The process serves. */
  onServing: (service: Service, port: number) => void;
  /** It begins to stop; with the reason, a sentence, when it cannot go on. */
  onStopping?: (overtaken: string | undefined) => void;
  /** It has stopped; its counters are final. */
  onCounted?: (values: MetricValues[]) => void;
  /** The metrics of the service's other processes; see `ServiceDeps`. */
  siblings?: ServiceDeps["siblings"];
}

/**
 * Serves until it is asked to stop: interface, dispatcher, maintenance, in one process.
 * @throws what keeps it from starting or going on, as a sentence.
 */
export async function runService(run: ServiceRun): Promise<void> {
  const { config, log, database } = run;
  let telemetry: Telemetry | undefined;
  try {
    telemetry = await startTelemetry(run);
    const service = createService({
      telemetry,
      config,
      log,
      pool: database.pool,
      cells: database.cells,
      encryptionKey: database.encryptionKey,
      process: database.process,
      siblings: run.siblings,
    });
    await Promise.all([service.checkClock(), service.followCells()]);
    // Now, because `kill -9` leaves no time for it, and it stops the process for most of a second after an installation.
    flushCompileCache();
    const { port, roles } = await run.listen(service.app).catch(async (cause: unknown) => {
      await service.stop();
      throw cause;
    });
    service.start(roles);
    log.info({ version, host: config.host, port, roles: [...roles] }, "started");
    run.onServing(service, port);
    const overtaken = await untilItEnds(run, service);
    setTimeout(endLate, stopLimitMs, log).unref();
    run.onStopping?.(overtaken);
    await service.stop();
    run.onCounted?.(await service.metricValues());
    if (overtaken !== undefined) throw new Error(overtaken);
  } finally {
    await telemetry?.stop();
    await database.close();
    log.info({}, "stopped");
    await log.flush();
    if (telemetry !== undefined) endSoon();
  }
}

/**
 * Starts the export that is asked for; undefined when none is. OpenTelemetry's packages are loaded here and not before, so
 * that a process that exports nothing has nothing of them in memory. The export names the process that it is from, so a spare that
 * exports waits here until it is told.
 */
async function startTelemetry({ config, log, instance }: ServiceRun): Promise<Telemetry | undefined> {
  const choice = telemetryChoice(config);
  for (const problem of choice.problems) log.warn({}, problem);
  if (choice.traces === null && choice.metrics === null) return undefined;
  const { startSdk } = await import("../telemetry/otel/startSdk.ts");
  return startSdk({ ...choice, instance: (await instance) ?? null }, log);
}

/** @returns why the process cannot go on, undefined when it was asked to stop. */
async function untilItEnds({ log, stopAsked }: ServiceRun, service: Service): Promise<string | undefined> {
  const end = await Promise.race([
    stopAsked.then((signal) => ({ signal })),
    service.overtaken.then((reason) => ({ reason })),
  ]);
  if ("signal" in end) {
    log.info(end, "stopping");
    return undefined;
  }
  log.error({}, `${end.reason}; this process ends`);
  await Promise.race([stopAsked, delay(overtakenNoticeMs, undefined, { ref: false })]);
  return end.reason;
}

/** How long an exporter may take to close its connections at the end. */
const lastMomentMs = 200;

/** The connection to a collector that does not answer would keep the process alive. */
function endSoon(): void {
  // oxlint-disable-next-line unicorn/no-process-exit -- nothing else ends an exporter's request
  setTimeout(() => process.exit(), lastMomentMs).unref();
}

function endLate(log: Log): void {
  log.warn(
    { limit_ms: stopLimitMs },
    "stopping took too long; what is left is delivered after its leases lapse",
  );
  void log.flush().then(() => endBy("SIGTERM"));
}
