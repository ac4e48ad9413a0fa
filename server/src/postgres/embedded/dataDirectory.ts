import { mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes the data directory with its parents, where they are missing, and gives its real path.
 * @throws a sentence for the operator.
 */
export function prepareDataDirectory(path: string): string {
  try {
    // Root's PostgreSQL runs as another user, which has to pass through; nobody but the owner can list it.
    makeDirectory(path, process.getuid?.() === 0 ? 0o711 : 0o700);
    return realpathSync(path);
  } catch (cause) {
    throw new Error(
      `cannot make the data directory ${path}: ${(cause as Error).message}; set POSTRIDER_DATA_DIR to a directory that this user may write to`,
      { cause },
    );
  }
}

/** Node's own recursive `mkdirSync` never returns where a directory exists and can hold none, as below `/proc`. */
function makeDirectory(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A directory, or a link to one; a file or a link to nothing is told as it is.
    if (code === "EEXIST" && statSync(path).isDirectory()) return;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    makeDirectory(dirname(path), mode);
    mkdirSync(path, { mode });
  }
}
