import pino from "pino";
import { createLineWriter, type LineWriter } from "./lineWriter.ts";
import { createLogDigest } from "./logDigest.ts";

/**
 * The service's log, in lines of JSON: what happens by itself, and sums of refusals, failing targets and slow requests;
 * a line per request and attempt where that is asked for.
 */
export type Log = ReturnType<typeof createLog>;

/** The logged fields of a request. */
export interface RequestLine {
  id: string;
  method: string;
  routePath: string;
  /** Null where the route itself checks the credential. */
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
  /** Until the next attempt; null when there is none. */
  nextInMs: number | null;
}

export interface LogOptions {
  /** Whether each request and attempt gets a line, at `info`. */
  everyRequest?: boolean;
  /** Standard output unless told. */
  destination?: LineWriter;
  /** In each line, where several processes write to one log. */
  pid?: number | undefined;
}

/**
 * A log at `level` (pino's names). The two lines of the hot path are put together here, in pino's format: through pino
 * they took a twentieth of an item's time.
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
    warn: (fields: object, message: string): void => logger.warn(fields, message),
    error: (fields: object, message: string): void => logger.error(fields, message),
    /** Counts a request in the sums, or writes its one wide line. Bodies, credentials and query strings are never part of it. */
    request(request: RequestLine, status: number, durationMs: number): void {
      if (isDigested) digest.request(request, status, durationMs);
      if (!writesLines) return;
      const org = request.caller ? `,"org_id":"${request.caller.orgId}"` : "";
      const about = describeRoute(request.method, request.routePath, status);
      destination.write(
        `{"level":30,"time":"${now()}",${writer}"request_id":"${request.id}${about}${roundMs(durationMs)}${org},"msg":"request"}\n`,
      );
    },
    /** The same of an attempt. */
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
    /** A fault, by which a request was answered with 5xx; the first of its kind in half a minute is written. */
    failure(requestId: string, status: number, error: Error): void {
      if (digest.isFirst(`${status} ${error.message}`)) {
        logger.error({ request_id: requestId, status, err: error }, "request failed");
      }
    },
    /** A refusal with 5xx that was foreseen; the same. */
    refusal(requestId: string, status: number, reason: string): void {
      if (digest.isFirst(`${status} ${reason}`)) {
        logger.warn({ request_id: requestId, status, reason }, "request refused");
      }
    },
    /** Writes out what is still in memory; called once, when the process ends. */
    flush(): Promise<void> {
      digest.flush();
      return destination.flush();
    },
  };
}

/** To a hundredth; the shortest digits are cheaper than a fixed number of them. */
function roundMs(durationMs: number): number {
  return Math.round(durationMs * 100) / 100;
}

/** The part of a request's line that is the same for all of a route's requests with one status, put together once. */
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

/** The part of an attempt's line that is the same as in the last line, for a target that gets many. */
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

/** ISO times, formatted once a millisecond however many lines it has. */
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

/** The logged fields of an error. Other fields of a driver's error contain rows, connections and passwords. */
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
