import { diskFullError, noSpacePattern } from "../awayReason.ts";

/** How long a line about a full disk is news. A PostgreSQL that cannot start is tried again more often. */
const newsMs = 30_000;

/** The error, as a sentence about the disk when that is what it is about. */
export function explainFullDisk(error: unknown, dataDir: string): unknown {
  const { message } = error as Error;
  if (!noSpacePattern.test(message) || (error as { code?: string }).code === "53100") return error;
  return diskFullError(`the disk that holds ${dataDir} is full: make room (${message})`, error);
}

/** Remembers what PostgreSQL's log says of the disk. */
export interface DiskWatch {
  hear(line: string): void;
  /** Why the database is away, if its disk was full a moment ago. */
  trouble(): Error | undefined;
}

/** @param warn tells the operator, once for each time the disk fills up. */
export function watchDisk(dataDir: string, warn: (message: string) => void): DiskWatch {
  let heardMs = -Infinity;
  const isNews = (): boolean => performance.now() - heardMs < newsMs;
  return {
    hear(line) {
      if (!noSpacePattern.test(line)) return;
      if (!isNews()) warn(`the disk that holds ${dataDir} is full: PostgreSQL cannot write; make room`);
      heardMs = performance.now();
    },
    trouble: () => (isNews() ? diskFullError(`the disk that holds ${dataDir} is full`) : undefined),
  };
}
