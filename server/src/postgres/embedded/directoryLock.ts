import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

/** Long enough for a service that is on its way out, short enough for a person who started a second one. */
const patienceMs = 2_000;
const retryMs = 50;
const sqliteBusy = 5;

/**
 * Takes the data directory for this process; the returned function gives it back. Node offers no file lock of
 * its own, so this is SQLite's: a POSIX record lock that the kernel drops at the moment the process ends, by
 * whatever cause, which is never stale and cannot be taken by two.
 * @throws after 2 s when another process holds it, naming that process.
 */
export async function lockDirectory(dataDir: string): Promise<() => void> {
  const nameFile = join(dataDir, "service.pid");
  const lock = openLock(join(dataDir, "service.lock"));
  const deadline = Date.now() + patienceMs;
  while (!tryLock(lock)) {
    if (Date.now() >= deadline) {
      lock.close();
      throw new Error(
        `another Postrider (process ${readName(nameFile)}) is using the data directory ${dataDir}: stop it, or set POSTRIDER_DATA_DIR to another directory`,
      );
    }
    await delay(retryMs * (1 + Math.random()));
  }
  writeName(nameFile);
  return () => {
    if (lock.isOpen) lock.close();
  };
}

function openLock(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path);
  } catch (cause) {
    throw new Error(`cannot use the lock file ${path}: ${(cause as Error).message}`, { cause });
  }
}

function tryLock(lock: DatabaseSync): boolean {
  try {
    // Nothing is ever written, so there is no journal to keep on disk.
    lock.exec("pragma journal_mode = memory; begin exclusive");
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === sqliteBusy) return false;
    throw error;
  }
}

/** For the other's sentence only; a full disk must not stop us here. */
function writeName(file: string): void {
  try {
    writeFileSync(file, `${process.pid}\n`);
  } catch {
    return;
  }
}

function readName(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return "unknown";
  }
}
