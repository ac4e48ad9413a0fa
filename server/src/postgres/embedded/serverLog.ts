import { databaseName } from "./cluster.ts";
import { diskFullError, noSpacePattern } from "../awayReason.ts";

const linesKept = 12;

/** Forwards important lines of PostgreSQL's log and keeps its last lines. */
export function followServerLog(log: (level: "info" | "warn" | "error", message: string) => void) {
  const lastLines: string[] = [];
  return {
    lastLines,
    onLine: (line: string): void => {
      if (early.test(line) || left.test(line)) return;
      lastLines.push(line);
      if (lastLines.length > linesKept) lastLines.shift();
      const level = judgeLine(line);
      if (level !== "quiet") log(level, `postgresql: ${line}`);
    },
  };
}

/** The level at which a line of PostgreSQL's log is forwarded. LOG lines are routine except those about crashes. */
export function judgeLine(line: string): "quiet" | "info" | "warn" | "error" {
  if (/^(FATAL|PANIC):/.test(line)) return "error";
  if (/^(ERROR|WARNING):/.test(line)) return "warn";
  if (!line.startsWith("LOG:"))
    return /^\s|^(DETAIL|HINT|NOTICE|CONTEXT|STATEMENT|DEBUG)/.test(line) ? "quiet" : "warn";
  if (/terminated by signal|crash|corrupt|could not|out of memory|invalid/.test(line)) return "warn";
  return /was interrupted|not properly shut down|redo (starts|done)/.test(line) ? "info" : "quiet";
}

/**
 * Matches PostgreSQL's refusals of clients that connect while it starts or stops, or at the first start before the service's
 * database exists.
 */
const early = new RegExp(
  `^FATAL: +(the database system is|terminating .* due to administrator command|database "${databaseName}" does not exist)`,
);

/** Matches PostgreSQL's messages about clients that disconnected early. */
const left = /^(FATAL: +connection to client lost|LOG: +could not send data to client)/;

/**
 * How long a line about a full disk counts as current. Longer than the interval at which a PostgreSQL that cannot start is
 * tried again.
 */
const newsMs = 30_000;

/** Returns a clear error if the error is about a full disk, otherwise the error itself. */
export function explainFullDisk(error: unknown, dataDir: string): unknown {
  const { message } = error as Error;
  if (!noSpacePattern.test(message) || (error as { code?: string }).code === "53100") return error;
  return diskFullError(`the disk that holds ${dataDir} is full: make room (${message})`, error);
}

/**
 * Watches PostgreSQL's log for messages about a full disk.
 * @param warn called with a sentence for the operator, once each time the disk becomes full.
 */
export function watchDisk(dataDir: string, warn: (message: string) => void) {
  let heardMs = -Infinity;
  const isNews = (): boolean => performance.now() - heardMs < newsMs;
  return {
    hear(line: string): void {
      if (!noSpacePattern.test(line)) return;
      if (!isNews()) warn(`the disk that holds ${dataDir} is full: PostgreSQL cannot write; make room`);
      heardMs = performance.now();
    },
    /** Why the database cannot be reached, if its disk was full during the last 30 s. */
    trouble: () => (isNews() ? diskFullError(`the disk that holds ${dataDir} is full`) : undefined),
  };
}
