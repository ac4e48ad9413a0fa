import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CommandError } from "../../runtime/commandError.ts";
import { syncDirectory } from "../../runtime/syncDirectory.ts";

const fileName = "moved.json";

/** A move of the embedded database, as recorded in its data directory. */
export interface Move {
  /** The destination, without credentials. */
  to: string;
  /** The move's id, which the other database stores too. */
  id: string;
  /** Unix seconds. */
  at: number;
  isDone: boolean;
}

/**
 * Records a move, so that no service starts on an embedded database that is being moved, or was: items accepted there would be
 * lost. Replaces an earlier record atomically, also when the process is killed, the power fails or the disk is full.
 */
export function markMoved(dataDir: string, move: Move): void {
  const path = join(dataDir, fileName);
  const draft = `${path}.${process.pid}.partial`;
  try {
    writeFileSync(draft, `${JSON.stringify(move)}\n`, { mode: 0o600, flush: true });
    renameSync(draft, path);
    syncDirectory(dataDir);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** Removes the record of a move that did not take place. */
export function unmarkMoved(dataDir: string): void {
  rmSync(join(dataDir, fileName), { force: true });
}

/** The recorded move of the data directory, ended or not, if there is one. */
export function readMove(dataDir: string): Move | undefined {
  const path = join(dataDir, fileName);
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Move;
  } catch (error) {
    // If the directory is missing, or is a file, the start itself says so.
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw new Error(
      `${path} cannot be read: ${(error as Error).message}; let this user read it, or set POSTRIDER_DATA_DIR`,
      { cause: error },
    );
  }
}

/** @throws {CommandError} when the directory's database was moved elsewhere, or its move was interrupted. */
export function refuseMoved(dataDir: string): void {
  const move = readMove(dataDir);
  if (move !== undefined) throw refusalOf(dataDir, move);
}

/** The error that says what to do about a recorded move. */
export function refusalOf(dataDir: string, { to, at, isDone }: Move): CommandError {
  const path = join(dataDir, fileName);
  const when = new Date(at * 1000).toISOString();
  return new CommandError(
    isDone
      ? `the database in ${dataDir} was moved to ${to} at ${when}: set DATABASE_URL; to use the old database anyway, remove ${path}`
      : `a move of the database in ${dataDir} to ${to} began at ${when} and did not end: run postrider move again with that DATABASE_URL, which finishes it; to stay here, empty that database and remove ${path}`,
    "conflict",
  );
}
