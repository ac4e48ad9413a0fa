import { readFileSync } from "node:fs";

/** Descriptors kept for files and other uses, besides those of deliveries and the database pool. */
const otherDescriptors = 256;
const mostConnections = 10_000;

/**
 * The maximum number of clients' connections: the configured number, or else the number of file descriptors that are left beside
 * deliveries and the database pool, at least 16 and at most 10,000.
 * @throws {Error} with a sentence, when the configured number exceeds the descriptors left.
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
    // `getReport` below would take a tenth of a start's processor time.
    const soft = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  }
  // `excludeNetwork` is missing in the types. It skips the network interfaces, which are not needed and slow to look up.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as {
    userLimits?: { open_files?: { soft?: number | string } };
  };
  const soft = Number(userLimits?.open_files?.soft);
  return Number.isFinite(soft) ? soft : Number.POSITIVE_INFINITY;
}
