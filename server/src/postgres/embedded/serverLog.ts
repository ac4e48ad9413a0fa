import { databaseName } from "./cluster.ts";
import { diskFullError, noSpacePattern } from "../awayReason.ts";

const linesKept = 12;

/** Forwards what deserves attention from PostgreSQL's log, and remembers its last lines. */
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

/** How loud a line of PostgreSQL's log is for us. Its LOG lines are routine except those about crashes. */
export function judgeLine(line: string): "quiet" | "info" | "warn" | "error" {
  if (/^(FATAL|PANIC):/.test(line)) return "error";
  if (/^(ERROR|WARNING):/.test(line)) return "warn";
  if (!line.startsWith("LOG:"))
    return /^\s|^(DETAIL|HINT|NOTICE|CONTEXT|STATEMENT|DEBUG)/.test(line) ? "quiet" : "warn";
  if (/terminated by signal|crash|corrupt|could not|out of memory|invalid/.test(line)) return "warn";
  return /was interrupted|not properly shut down|redo (starts|done)/.test(line) ? "info" : "quiet";
}

/** PostgreSQL's answers to clients that connect while it starts or stops, or at the first start before the service's database is made. */
const early = new RegExp(
  `^FATAL: +(the database system is|terminating .* due to administrator command|database "${databaseName}" does not exist)`,
);

/** PostgreSQL's messages about clients that disconnected early. */
const left = /^(FATAL: +connection to client lost|LOG: +could not send data to client)/;

/** How long a line about a full disk is news. A PostgreSQL that cannot start is tried again more often. */
const newsMs = 30_000;

/** The error, as a sentence about the disk when that is what it is about. */
export function explainFullDisk(error: unknown, dataDir: string): unknown {
  const { message } = error as Error;
  if (!noSpacePattern.test(message) || (error as { code?: string }).code === "53100") return error;
  return diskFullError(`the disk that holds ${dataDir} is full: make room (${message})`, error);
}

/**
 * Remembers what PostgreSQL's log says of the disk.
 * @param warn tells the operator, once for each time the disk fills up.
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
    /** Why the database is away, if its disk was full a moment ago. */
    trouble: () => (isNews() ? diskFullError(`the disk that holds ${dataDir} is full`) : undefined),
  };
}
