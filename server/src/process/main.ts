import type { Server } from "node:net";
import type { Config } from "../config/config.ts";
import { openDatabase } from "./database.ts";
import { createService } from "./assemble.ts";
import { createLog, type Log } from "../telemetry/log.ts";

/** How long a process may take to stop; what it has not ended by then is left to its lapsing leases. */
const stopLimitMs = 25_000;

/**
 * Runs the service until SIGTERM or SIGINT: configuration, database, interface, dispatcher, signals. `say` shows
 * a line to the person who started it.
 * @throws what keeps it from starting, as a sentence.
 */
export async function serve(config: Config, say: (line: string) => void): Promise<void> {
  const log = createLog(config.logLevel);
  const stopAsked = new Promise<NodeJS.Signals>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, resolve);
  });
  const database = await openDatabase(config, log, say);
  try {
    const service = createService({
      config,
      log,
      pool: database.pool,
      connection: database.connection,
      encryptionKey: database.encryptionKey,
    });
    try {
      await service.app.listen({ port: config.port, host: config.host });
    } catch (cause) {
      await service.stop();
      throw new Error(listenFailure(config, cause as NodeJS.ErrnoException), { cause });
    }
    service.start();
    greet(config, listeningPort(service.app.server.address()) ?? config.port, say);
    const signal = await stopAsked;
    log.info({ signal }, "stopping");
    setTimeout(endLate, stopLimitMs, log, signal).unref();
    await service.stop();
  } finally {
    await database.close();
    log.info({}, "stopped");
    log.flush();
  }
}

/** The signal has no handler any more, so it ends the process now; whatever hangs, it does not hang for ever. */
function endLate(log: Log, signal: NodeJS.Signals): void {
  log.warn(
    { limit_ms: stopLimitMs },
    "stopping took too long; what is left is delivered after its leases lapse",
  );
  log.flush();
  process.kill(process.pid, signal);
}

function greet(config: Config, port: number, say: (line: string) => void): void {
  const host = config.host.includes(":") ? `[${config.host}]` : config.host;
  const address = `http://${host}:${port}`;
  const page = config.dashboard ? "open it in a browser" : "the dashboard is off";
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
  return `cannot listen on ${where}: ${error.message}`;
}
