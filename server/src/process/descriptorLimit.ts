import { readFileSync } from "node:fs";

/** Descriptors that are not for clients' connections: files, the database, and what is sent. */
const otherDescriptors = 256;
const mostConnections = 10_000;

/**
 * How many connections of clients the process may have: what is asked for, or as many as its limit of file
 * descriptors leaves room for beside what it sends, at most 10,000.
 * @throws {Error} with a sentence, when more are asked for than there is room for.
 */
export function connectionLimitOf(
  asked: number | undefined,
  { maxInFlight, databasePool }: { maxInFlight: number; databasePool: number },
): number {
  const room = openFilesLimit() - otherDescriptors - maxInFlight - databasePool;
  if (asked === undefined) return Math.max(16, Math.min(mostConnections, room));
  if (asked <= room) return asked;
  throw new Error(
    `POSTRIDER_MAX_CONNECTIONS=${asked} needs more file descriptors than this process may open: raise the limit (ulimit -n) or set at most ${Math.max(16, room)}`,
  );
}

function openFilesLimit(): number {
  if (process.platform === "linux") {
    // A report takes a tenth of a start's processor time.
    const soft = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  }
  // Missing in the types; names of interfaces are not wanted here and take their time.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as {
    userLimits?: { open_files?: { soft?: number | string } };
  };
  const soft = Number(userLimits?.open_files?.soft);
  return Number.isFinite(soft) ? soft : Number.POSITIVE_INFINITY;
}
