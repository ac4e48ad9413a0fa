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

/** Time limit for a process to stop. Other processes take over the deliveries that it still holds when their leases lapse. */
const stopLimitMs = 25_000;
/** How long a process that cannot continue answers `/readyz` with the reason before it ends, so that load balancers notice. */
const overtakenNoticeMs = 5_000;

/** The parts of one running process that differ between a single process and a worker. */
export interface ServiceRun {
  config: Config;
  log: Log;
  /** Closed by `runService` in the end. */
  database: OpenDatabase;
  /** Resolves with the name of the signal, or other request, to stop. */
  stopAsked: Promise<string>;
  /** Resolves with the number of this process's slot when the supervisor has assigned it; absent in a single process. */
  instance?: Promise<string>;
  /** Opens the port; resolves with its number and the roles of this process. */
  listen: (app: FastifyInstance) => Promise<{ port: number; roles: Config["roles"] }>;
  /** Called when the process serves. */
  onServing: (service: Service, port: number) => void;
  /** Called when the process begins to stop; with the reason, a sentence, if it cannot continue. */
  onStopping?: (overtaken: string | undefined) => void;
  /** Called when the process has stopped, with its final metrics. */
  onCounted?: (values: MetricValues[]) => void;
  /** The metrics of the service's other processes; see `ServiceDeps`. */
  siblings?: ServiceDeps["siblings"];
}

/**
 * Runs the interface, the dispatcher and maintenance in this process until it is asked to stop.
 * @throws {Error} a sentence that says why the process cannot start or continue.
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
    // Flushed before serving: it blocks the process for most of a second after an installation, and `kill -9` leaves no time
    // later.
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
 * Starts the configured export; undefined when none is configured. OpenTelemetry's packages are loaded only here, so that a
 * process that exports nothing does not hold them in memory. Exported data names its process, so a spare waits here for its slot.
 */
async function startTelemetry({ config, log, instance }: ServiceRun): Promise<Telemetry | undefined> {
  const choice = telemetryChoice(config);
  for (const problem of choice.problems) log.warn({}, problem);
  if (choice.traces === null && choice.metrics === null) return undefined;
  const { startSdk } = await import("../telemetry/otel/startSdk.ts");
  return startSdk({ ...choice, instance: (await instance) ?? null }, log);
}

/** Waits for the end. @returns why the process cannot continue, or undefined when it was asked to stop. */
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

/** Ends the process soon, even if an open connection to an unresponsive collector keeps it alive. */
function endSoon(): void {
  // oxlint-disable-next-line unicorn/no-process-exit -- nothing else ends an exporter's request
  setTimeout(() => process.exit(), lastMomentMs).unref();
}

function endLate(log: Log): void {
  log.warn(
    { limit_ms: stopLimitMs },
    "stopping took too long; the remaining deliveries are sent after their leases lapse",
  );
  void log.flush().then(() => endBy("SIGTERM"));
}
