import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

/** Long enough for a service that is on its way out, short enough for a person who started a second one. */
const usualPatienceMs = 2_000;
const retryMs = 50;
const sqliteBusy = 5;

/** The process that has a data directory, as the file `service.pid` there names it: its id in a line, and a command's name in another. */
export interface Holder {
  /** Undefined when the file does not say. */
  pid: number | undefined;
  /** Such as `postrider restore`; undefined for a service. */
  command: string | undefined;
}

/** Another process has the data directory. */
export class DirectoryInUseError extends Error {
  readonly holder: Holder;

  constructor(dataDir: string, holder: Holder) {
    const process = `(process ${holder.pid ?? "unknown"}) is using the data directory ${dataDir}`;
    super(
      holder.command === undefined
        ? `another Postrider ${process}: stop it, or set POSTRIDER_DATA_DIR to another directory`
        : `${holder.command} ${process}: wait until it has ended`,
    );
    this.holder = holder;
  }
}

/** How a directory is taken. */
export interface Taking {
  /** The command that takes it, for others to read; a service unless given. */
  command?: string;
  /** How long another process may keep it; 2 s unless given. */
  patienceMs?: number;
}

/**
 * Takes the data directory for this process; the returned function gives it back. Node offers no file lock of
 * its own, so this is SQLite's: a POSIX record lock that the kernel drops at the moment the process ends, by
 * whatever cause, which is never stale and cannot be taken by two.
 * @throws {DirectoryInUseError} when another process keeps it.
 */
export async function lockDirectory(
  dataDir: string,
  { command, patienceMs = usualPatienceMs }: Taking = {},
): Promise<() => void> {
  const nameFile = join(dataDir, "service.pid");
  const lock = openLock(join(dataDir, "service.lock"));
  const deadline = Date.now() + patienceMs;
  while (!tryLock(lock)) {
    if (Date.now() >= deadline) {
      lock.close();
      throw new DirectoryInUseError(dataDir, readHolder(nameFile));
    }
    await delay(retryMs * (1 + Math.random()));
  }
  writeHolder(nameFile, command);
  return () => {
    if (lock.isOpen) lock.close();
  };
}

/** The process that has the directory now, if one has. In its first moment it may still be named like the one before. */
export function findHolder(dataDir: string): Holder | undefined {
  const path = join(dataDir, "service.lock");
  if (!existsSync(path)) return undefined;
  const lock = openLock(path);
  try {
    return tryLock(lock) ? undefined : readHolder(join(dataDir, "service.pid"));
  } finally {
    lock.close();
  }
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

/** For other processes to read; a full disk must not stop this one. */
function writeHolder(file: string, command: string | undefined): void {
  try {
    writeFileSync(file, `${process.pid}\n${command === undefined ? "" : `${command}\n`}`);
  } catch {
    return;
  }
}

function readHolder(file: string): Holder {
  try {
    const [first = "", command = ""] = readFileSync(file, "utf8").split("\n");
    return { pid: /^\d+$/.test(first) ? Number(first) : undefined, command: command || undefined };
  } catch {
    return { pid: undefined, command: undefined };
  }
}
