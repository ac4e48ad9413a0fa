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

/**
 * Creates a log at `level` (pino's names). The two kinds of lines of the hot path are built here in pino's format, because pino
 * took a twentieth of the time per item for them.
 */
export function createLog(level: string, options: LogOptions = {}) {
  const { everyRequest = false, destination = createLineWriter(process.stdout.fd), pid } = options;
  const base = pid === undefined ? null : { pid };
  const writer = pid === undefined ? "" : `"pid":${pid},`;
  const logger = pino(
    { level, base, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: describeError } },
    destination,
  );
  const isDigested = logger.isLevelEnabled("info");
  const writesLines = everyRequest && isDigested;
  const digest = createLogDigest((fields, message) => logger.info(fields, message));
  const now = createIsoClock();
  const describeRoute = createRouteText();
  const describeAttempt = createAttemptText();
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
      if (!writesLines) return;
      const org = request.caller ? `,"org_id":"${request.caller.orgId}"` : "";
      const about = describeRoute(request.method, request.routePath, status);
      destination.write(
        `{"level":30,"time":"${now()}",${writer}"request_id":"${request.id}${about}${roundMs(durationMs)}${org},"msg":"request"}\n`,
      );
    },
    /** Counts an attempt in the sums and, if configured, writes its line. */
    attempt(line: AttemptLine): void {
      if (isDigested) digest.attempt(line);
      if (!writesLines) return;
      const error = line.error === null ? "" : `,"error":${JSON.stringify(line.error)}`;
      const next = line.nextInMs === null ? "" : `,"next_in_ms":${line.nextInMs}`;
      const about = describeAttempt(line);
      destination.write(
        `{"level":30,"time":"${now()}",${writer}"event_id":"${line.eventId}${about}${line.durationMs}${error}${next},"msg":"attempt"}\n`,
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

/** The parts that two lines about the same fault share: all fields, and the error's text without its stack. */
function describeLine({ err, ...fields }: { err?: unknown }, message: string): string {
  return `${message} ${JSON.stringify(fields)} ${err instanceof Error ? err.message : String(err)}`;
}

/** Rounds to hundredths. Writing the shortest digits is faster than a fixed number of digits. */
function roundMs(durationMs: number): number {
  return Math.round(durationMs * 100) / 100;
}

/** Caches the part of a request's line that is the same for all requests of a route with one status. */
function createRouteText(): (method: string, routePath: string, status: number) => string {
  const last = new Map<string, { method: string; status: number; text: string }>();
  return (method, routePath, status) => {
    const known = last.get(routePath);
    if (known?.method === method && known.status === status) return known.text;
    const text = `","method":"${method}","route":"${routePath}","status":${status},"duration_ms":`;
    last.set(routePath, { method, status, text });
    return text;
  };
}

/** Caches the part of an attempt's line that often equals that of the last line, for a target with many attempts. */
function createAttemptText(): (line: AttemptLine) => string {
  let last: AttemptLine | undefined;
  let text = "";
  return (line) => {
    if (
      last?.targetId !== line.targetId ||
      last.number !== line.number ||
      last.outcome !== line.outcome ||
      last.statusCode !== line.statusCode
    ) {
      last = line;
      text = `","target_id":"${line.targetId}","org_id":"${line.orgId}","number":${line.number},"outcome":"${line.outcome}","status":${line.statusCode},"duration_ms":`;
    }
    return text;
  };
}

/** Returns ISO times, formatted at most once per millisecond. */
function createIsoClock(): () => string {
  let lastMs = 0;
  let text = "";
  return () => {
    const nowMs = Date.now();
    if (nowMs !== lastMs) {
      lastMs = nowMs;
      text = new Date(nowMs).toISOString();
    }
    return text;
  };
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
