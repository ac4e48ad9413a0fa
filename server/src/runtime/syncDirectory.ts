import { closeSync, fsyncSync, openSync } from "node:fs";

/** Errors of file systems that cannot flush a directory, and of directories that this process may write and not read. */
const unsupported = new Set(["EINVAL", "ENOTSUP", "EOPNOTSUPP", "EACCES", "EPERM"]);

/**
 * Flushes a directory to disk, so that a rename in it survives a power failure. Does nothing where the file system or the
 * platform has no such flush.
 */
export function syncDirectory(path: string): void {
  if (process.platform === "win32") return;
  try {
    const descriptor = openSync(path, "r");
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (!unsupported.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}
