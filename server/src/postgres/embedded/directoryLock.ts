import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

/**
 * How long to wait for the lock: long enough for a service that is stopping, short enough for a person who started a second
 * one by mistake.
 */
const usualPatienceMs = 2_000;
const retryMs = 50;
const sqliteBusy = 5;

/**
 * The process that holds a data directory, as the file `service.pid` in the directory names it: the first line has the
 * process id, the second one the name of a command.
 */
export interface Holder {
  /** Undefined when the file has no process id. */
  pid: number | undefined;
  /** Such as `postrider restore`; undefined for a service. */
  command: string | undefined;
}

/** Another process holds the data directory. */
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

/** Options for locking a directory. */
export interface Taking {
  /** The command that locks the directory, for messages of other processes; a service by default. */
  command?: string;
  /** How long to wait while another process holds the lock; 2 s by default. */
  patienceMs?: number | undefined;
}

/**
 * Locks the data directory for this process; the returned function unlocks it. Node has no file locks of its own, so this
 * uses SQLite's: a POSIX record lock that the kernel releases when the process ends for any reason, so that it is never stale
 * and never held by two processes.
 * @throws {DirectoryInUseError} when another process keeps holding the lock.
 */
export async function lockDirectory(
  dataDir: string,
  { command, patienceMs = usualPatienceMs }: Taking = {},
): Promise<() => void> {
  const nameFile = join(dataDir, "service.pid");
  const lock = openLock(join(dataDir, "service.lock"));
  const deadline = performance.now() + patienceMs;
  while (!tryLock(lock)) {
    if (performance.now() >= deadline) {
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

/**
 * The process that holds the directory now; undefined when there is none. In its first moments the file may still name the
 * process before it.
 */
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
    throw new Error(
      `cannot use the lock file ${path}: ${(cause as Error).message}; let this user write to the directory, or set POSTRIDER_DATA_DIR`,
      { cause },
    );
  }
}

function tryLock(lock: DatabaseSync): boolean {
  try {
    // Nothing is ever written, so no journal has to be on disk.
    lock.exec("pragma journal_mode = memory; begin exclusive");
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === sqliteBusy) return false;
    throw error;
  }
}

/** Writes the file for other processes to read; a full disk must not stop this process. */
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
