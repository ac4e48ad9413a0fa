import { extname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Config } from "../config/config.ts";
import { version } from "../config/version.ts";
import { endLeasesOf } from "../delivery/rows/sweepDeliveries.ts";
import type { TokenRange } from "../items/item.ts";
import { createLineWriter } from "../telemetry/lineWriter.ts";
import { createLog, type Log } from "../telemetry/log.ts";
import { refuseTooManyConnections } from "./database/connectionRoom.ts";
import { leave, type OpenDatabase } from "./database/openDatabase.ts";
import { greet, listenFailure } from "./listening.ts";
import { openUnlessStopped } from "./openUnlessStopped.ts";
import { listenForStop, type StopRequest } from "./stopRequest.ts";
import { bindSharedPort, type SharedPort } from "./workers/sharedPort.ts";
import { Workers } from "./workers/workers.ts";
import { startWorkerProcess } from "./workers/workerProcess.ts";

/** Time limit for all processes to stop. Deliveries that they still hold become due again when their leases lapse. */
const stopLimitMs = 25_000;
/** Time that the database gets to end the last statements of a dead process. Leases taken later than that have to lapse. */
const lastStatementsMs = 200;
/** How often workers are told whether the embedded server's disk is full. */
const troubleEveryMs = 1_000;

type Say = (line: string) => void;

/**
 * Runs the service in POSTRIDER_PROCESSES processes until SIGTERM, SIGINT or SIGHUP. This process is the supervisor: it owns the
 * port and the embedded PostgreSQL, migrates the schema, and replaces a process that dies.
 * @param isRunByNpm whether `npm start` started this process, so that it stops when npm ends.
 * @throws {Error} a sentence that says why the service cannot start or continue.
 */
export async function serve(config: Config, say: Say, isRunByNpm: boolean): Promise<void> {
  const destination = createLineWriter(process.stdout.fd);
  const log = createLog(config.logLevel, { destination, pid: process.pid });
  const stop = listenForStop(say, isRunByNpm);
  const port = await bindSharedPort(config, config.processes).catch((cause: NodeJS.ErrnoException) => {
    throw cause.code === undefined ? cause : new Error(listenFailure(config, cause), { cause });
  });
  const entry = join(import.meta.dirname, `workerEntry${extname(import.meta.filename)}`);
  const workers = new Workers({
    count: config.processes,
    port,
    log,
    start: (hear) =>
      startWorkerProcess({ entry, fds: port.fds, hear, write: (lines) => destination.write(lines) }),
    onEnded: (leases) => void takeOver(database!, leases, log),
  });
  workers.load();
  let database: OpenDatabase | undefined;
  try {
    database = await openUnlessStopped(config, log, { say, stop });
    if (database !== undefined) await runWorkers({ config, log, stop, port, workers, database, say });
  } finally {
    await workers.stop(stopLimitMs);
    port.close();
    await database?.close();
    log.info({}, "stopped");
    await log.flush();
  }
}

interface Supervision {
  config: Config;
  log: Log;
  stop: StopRequest;
  port: SharedPort;
  workers: Workers;
  database: OpenDatabase;
  say: Say;
}

/** Serves until the service is asked to stop. @throws {Error} the reason why it cannot continue. */
async function runWorkers(supervision: Supervision): Promise<void> {
  const { config, log, stop, port, workers, database, say } = supervision;
  await refuseTooManyConnections(database.pool, config);
  const unasked = workers.failed.then((reason): never => {
    throw new Error(reason);
  });
  const begun = await Promise.race([
    workers.serve(
      { connection: database.connection, encryptionKey: database.encryptionKey.toString("base64") },
      (slot) => rolesOf(config, slot),
    ),
    stop.asked.then(() => undefined),
    unasked,
  ]);
  if (begun === undefined) return;
  // The table of processes lists the workers from now on, and not their supervisor.
  if (database.process !== undefined) await leave(database.pool, database.process);
  log.info(
    { version, host: config.host, port: port.port, processes: config.processes },
    "all processes serve",
  );
  greet(config, { port: port.port, ...begun }, say);
  const watch = tellTrouble(database, workers);
  try {
    const signal = await Promise.race([stop.asked, unasked]);
    log.info({ signal }, "stopping all processes");
  } catch (error) {
    log.error({}, `${(error as Error).message}; the service ends`);
    throw error;
  } finally {
    clearInterval(watch);
  }
}

/** The roles of a worker. Only the first has the role maintenance: the chores of several would wait for each other's locks. */
function rolesOf({ roles }: Config, slot: number): string[] {
  return [...roles].filter((role) => role !== "maintenance" || slot === 0);
}

/**
 * Ends the leases of a process that has ended, so that its deliveries are due at once and not only when the leases lapse. Only
 * the supervisor can do that: from the database nobody can tell that the process has ended. Never rejects.
 */
async function takeOver({ cells }: OpenDatabase, leases: TokenRange, log: Log): Promise<void> {
  await delay(lastStatementsMs, undefined, { ref: false });
  try {
    let taken = 0;
    for (const { pool } of cells.all()) taken += await endLeasesOf(pool, leases);
    if (taken > 0) log.info({ deliveries: taken }, "ended the leases of the process that died");
  } catch (error) {
    log.warn({ err: error }, "the deliveries of the process that died become due when its leases lapse");
  }
}

/** Tells the workers when the embedded server's disk is full, for their answers: only the supervisor sees the server's log. */
function tellTrouble({ trouble }: OpenDatabase, workers: Workers): NodeJS.Timeout | undefined {
  if (trouble === undefined) return undefined;
  let told: string | null = null;
  return setInterval(() => {
    const reason = trouble()?.message ?? null;
    if (reason === told) return;
    told = reason;
    workers.tellTrouble(reason);
  }, troubleEveryMs);
}
