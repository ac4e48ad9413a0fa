import pino from "pino";
import { createLineWriter, type LineWriter } from "./lineWriter.ts";
import { createLogDigest } from "./logDigest.ts";

/**
 * The service's log as lines of JSON: events of the service itself, and sums of refusals, failing targets and slow requests. If
 * configured, also one line per request and attempt.
 */
export type Log = ReturnType<typeof createLog>;

/** The logged fields of a request. */
export interface RequestLine {
  id: string;
  method: string;
  routePath: string;
  /** Null if the route itself checks the credential. */
  caller: { orgId: string } | null;
}

/** The logged fields of an attempt. */
export interface AttemptLine {
  eventId: string;
  targetId: string;
  orgId: string;
  number: number;
  outcome: string;
  /** HTTP status of the answer; 0 when there was none. */
  statusCode: number;
  durationMs: number;
  error: string | null;
  /** Milliseconds until the next attempt; null if there is none. */
  nextInMs: number | null;
}

export interface LogOptions {
  /** Whether each request and attempt is logged, at level `info`. */
  everyRequest?: boolean;
  /** Default: standard output. */
  destination?: LineWriter;
  /** Added to each line if several processes write to one log. */
  pid?: number | undefined;
}

/** Creates a log at `level` (pino's names). */
export function createLog(level: string, options: LogOptions = {}) {
  const { everyRequest = false, destination = createLineWriter(process.stdout.fd), pid } = options;
  const base = pid === undefined ? null : { pid };
  const logger = pino(
    { level, base, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: describeError } },
    destination,
  );
  const isDigested = logger.isLevelEnabled("info");
  const digest = createLogDigest((fields, message) => logger.info(fields, message));
  return {
    info: (fields: object, message: string): void => logger.info(fields, message),
    /** Logs a warning; equal ones once in half a minute, because loops that fail try again every second. */
    warn(fields: object, message: string): void {
      if (!digest.isRepeated(describeLine(fields, message))) logger.warn(fields, message);
    },
    /** Logs an error; equal ones once in half a minute. */
    error(fields: object, message: string): void {
      if (!digest.isRepeated(describeLine(fields, message))) logger.error(fields, message);
    },
    /**
     * Counts a request in the sums and, if configured, writes its line. The line never has bodies, credentials or query strings.
     */
    request(request: RequestLine, status: number, durationMs: number): void {
      if (isDigested) digest.request(request, status, durationMs);
      if (!everyRequest) return;
      logger.info(
        {
          request_id: request.id,
          method: request.method,
          route: request.routePath,
          status,
          duration_ms: Math.round(durationMs * 100) / 100,
          org_id: request.caller?.orgId,
        },
        "request",
      );
    },
    /** Counts an attempt in the sums and, if configured, writes its line. */
    attempt(line: AttemptLine): void {
      if (isDigested) digest.attempt(line);
      if (!everyRequest) return;
      logger.info(
        {
          event_id: line.eventId,
          target_id: line.targetId,
          org_id: line.orgId,
          number: line.number,
          outcome: line.outcome,
          status: line.statusCode,
          duration_ms: line.durationMs,
          error: line.error ?? undefined,
          next_in_ms: line.nextInMs ?? undefined,
        },
        "attempt",
      );
    },
    /** Logs an error that was answered with 5xx; only the first one of its kind in half a minute. */
    failure(requestId: string, status: number, error: Error): void {
      if (digest.isFirst(`${status} ${error.message}`)) {
        logger.error({ request_id: requestId, status, err: error }, "request failed");
      }
    },
    /** Logs an expected refusal with 5xx; only the first one of its kind in half a minute. */
    refusal(requestId: string, status: number, reason: string): void {
      if (digest.isFirst(`${status} ${reason}`)) {
        logger.warn({ request_id: requestId, status, reason }, "request refused");
      }
    },
    /** Writes all waiting data; called once, when the process ends. */
    flush(): Promise<void> {
      digest.flush();
      return destination.flush();
    },
  };
}

/**
 * The parts that two lines about the same fault share: all fields except the event, because a fault of a target or of the database
 * may concern thousands of events, and the error's text without its stack.
 */
function describeLine(
  { err, event_id: _example, ...fields }: { err?: unknown; event_id?: string },
  message: string,
): string {
  return `${message} ${JSON.stringify(fields)} ${err instanceof Error ? err.message : String(err)}`;
}

/** The logged fields of an error. Other fields of a database driver's error may contain rows, connections and passwords. */
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
