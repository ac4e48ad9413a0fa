import type { FastifyRequest } from "fastify";
import pino from "pino";

/** The service's log: one JSON line per request and attempt, and lines for what happens by itself. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** The one wide line of a request. Bodies, credentials and query strings are never part of it. */
  request(request: FastifyRequest, status: number, route: string, durationMs: number): void;
  /** The one wide line of an attempt. */
  attempt(fields: object): void;
  /** Why a request was answered with 5xx. */
  failure(request: FastifyRequest, status: number, error: Error): void;
  /** Writes out what is still in memory; called once, when the process ends. */
  flush(): void;
}

/** How much is gathered before it is written; a line waits at most a second. */
const bufferBytes = 16_000;
const flushIntervalMs = 1_000;

/** A log at `level` (pino's names) to standard output. */
export function createLog(level: string): Log {
  const destination = pino.destination({ dest: 1, sync: false, minLength: bufferBytes });
  const logger = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: describeError } },
    destination,
  );
  const writesRequests = logger.isLevelEnabled("info");
  setInterval(() => destination.flush(), flushIntervalMs).unref();
  return {
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    request(request, status, route, durationMs) {
      if (!writesRequests) return;
      logger.info(
        {
          request_id: request.id,
          method: request.method,
          route,
          status,
          duration_ms: Math.round(durationMs * 100) / 100,
          ...(request.caller && { org_id: request.caller.orgId }),
        },
        "request",
      );
    },
    attempt(fields) {
      if (writesRequests) logger.info(fields, "attempt");
    },
    failure: (request, status, error) =>
      logger.error({ request_id: request.id, status, err: error }, "request failed"),
    flush: () => destination.flushSync(),
  };
}

/** What a line says of an error. Other fields of a driver's error hold rows, connections and passwords. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code } = error as Error & { code?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === "string" && { code }),
    stack: error.stack,
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  };
}
