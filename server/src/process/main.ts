import type { Server } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Config } from "../config/config.ts";
import { type OpenDatabase, openDatabase } from "./database.ts";
import { tellProgress } from "./startProgress.ts";
import { endBy, listenForStop, type StopRequest } from "./stopRequest.ts";
import { refuseForeignKey } from "./encryptionKey.ts";
import { createService } from "./assemble.ts";
import { isDashboardBuilt } from "../http/dashboard.ts";
import { version } from "../config/version.ts";
import { createLog, type Log } from "../telemetry/log.ts";
import { startTelemetry } from "../telemetry/otel/startTelemetry.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { telemetryChoice } from "../telemetry/telemetryChoice.ts";

/** How long a process may take to stop; what it has not ended by then is left to its lapsing leases. */
const stopLimitMs = 25_000;
/** How long a process that was overtaken says so in `/readyz` before it ends, so that a load balancer turns away. */
const overtakenNoticeMs = 5_000;
/** The same before it has served: nothing can be lost, and PostgreSQL's guard stops the embedded database. */
const startStopLimitMs = 5_000;

/**
 * Runs the service until SIGTERM, SIGINT or SIGHUP: configuration, database, interface, dispatcher, signals. `say`
 * shows a line to the person who started it.
 * @param isRunByNpm whether the process that started this one is `npm start`, whose end is this one's.
 * @throws what keeps it from starting, as a sentence.
 */
export async function serve(config: Config, say: (line: string) => void, isRunByNpm: boolean): Promise<void> {
  const log = createLog(config.logLevel, { everyRequest: config.logRequests });
  const stop = listenForStop(say, isRunByNpm);
  const database = await openUnlessStopped(config, log, { say, stop });
  if (database === undefined) return;
  let telemetry: Telemetry | undefined;
  try {
    const keys = { current: database.encryptionKey, previous: config.previousEncryptionKeys };
    await refuseForeignKey(database.pool, keys);
    telemetry = await startTelemetry(telemetryChoice(config), log);
    const service = createService({
      telemetry,
      config,
      log,
      pool: database.pool,
      cells: database.cells,
      encryptionKey: database.encryptionKey,
      process: database.process,
    });
    await service.checkClock();
    try {
      await service.app.listen({ port: config.port, host: config.host });
    } catch (cause) {
      await service.stop();
      throw new Error(listenFailure(config, cause as NodeJS.ErrnoException), { cause });
    }
    service.start();
    const port = listeningPort(service.app.server.address()) ?? config.port;
    log.info({ version, host: config.host, port, roles: [...config.roles] }, "started");
    greet(config, port, say);
    const end = await Promise.race([
      stop.asked.then((signal) => ({ signal })),
      service.overtaken.then((reason) => ({ reason })),
    ]);
    if ("reason" in end) {
      log.error({}, `${end.reason}; this process ends`);
      await Promise.race([stop.asked, delay(overtakenNoticeMs, undefined, { ref: false })]);
    } else {
      log.info(end, "stopping");
    }
    setTimeout(endLate, stopLimitMs, log).unref();
    await service.stop();
    if ("reason" in end) throw new Error(end.reason);
  } finally {
    await telemetry?.stop();
    await database.close();
    log.info({}, "stopped");
    await log.flush();
    if (telemetry !== undefined) endSoon();
  }
}

/**
 * The database, or undefined when the process was asked to stop first. Whatever a start hangs in, the process then
 * ends within seconds.
 */
async function openUnlessStopped(
  config: Config,
  log: Log,
  { say, stop }: { say: (line: string) => void; stop: StopRequest },
): Promise<OpenDatabase | undefined> {
  const progress = tellProgress(say);
  const opening = openDatabase(config, log, { say, progress, signal: stop.signal });
  let isOpen = false;
  const stopped = stop.asked.then((signal) => {
    if (isOpen) return undefined;
    say(`Stopped by ${signal} before it served`);
    // oxlint-disable-next-line unicorn/no-process-exit -- whatever a start hangs in would keep the process
    setTimeout(() => process.exit(0), startStopLimitMs).unref();
    return undefined;
  });
  try {
    const database = await Promise.race([opening, stopped]);
    if (database !== undefined) {
      isOpen = true;
      return database;
    }
    // It ends by itself, as the signal told it, or is cut off by the limit.
    await opening.then(
      (late) => late.close(),
      () => undefined,
    );
    return undefined;
  } finally {
    progress.end();
  }
}

/** How long what is left of a process that exports has to end by itself. */
const lastMomentMs = 200;

/** A collector that does not answer keeps its connection, and with it a process that has nothing else to do. */
function endSoon(): void {
  // oxlint-disable-next-line unicorn/no-process-exit -- nothing else ends an exporter's request
  setTimeout(() => process.exit(), lastMomentMs).unref();
}

/** Whatever hangs, it does not hang for ever. */
function endLate(log: Log): void {
  log.warn(
    { limit_ms: stopLimitMs },
    "stopping took too long; what is left is delivered after its leases lapse",
  );
  void log.flush().then(() => endBy("SIGTERM"));
}

function greet(config: Config, port: number, say: (line: string) => void): void {
  const host = config.host.includes(":") ? `[${config.host}]` : config.host;
  const address = `http://${host}:${port}`;
  const page = !config.dashboard
    ? "the dashboard is off"
    : isDashboardBuilt()
      ? "open it in a browser"
      : "the dashboard is not built (npm ci without --omit=dev builds it)";
  say(`Postrider listens on ${address} — ${page}; the interface is described at ${address}/docs`);
}

function listeningPort(address: ReturnType<Server["address"]>): number | undefined {
  return typeof address === "object" ? address?.port : undefined;
}

function listenFailure(config: Config, error: NodeJS.ErrnoException): string {
  const where = `${config.host}:${config.port}`;
  if (error.code === "EADDRINUSE")
    return `${where} is in use by another program: stop it, or set PORT to a free port`;
  if (error.code === "EACCES") return `${where} may not be opened by this user: set PORT to one above 1023`;
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND" || error.code === "EAI_AGAIN")
    return `HOST=${config.host} is no address of this machine: set it to one, to 127.0.0.1, or to 0.0.0.0 for all`;
  return `cannot listen on ${where}: ${error.message}`;
}
