import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CommandError } from "../../runtime/commandError.ts";
import { syncDirectory } from "../../runtime/syncDirectory.ts";

const fileName = "moved.json";

/** A move of the embedded database, as its data directory remembers it. */
export interface Move {
  /** Where to, without credentials. */
  to: string;
  /** Names it in the other database, too. */
  id: string;
  /** Unix seconds. */
  at: number;
  isDone: boolean;
}

/**
 * Keeps a service off an embedded database that is being moved, or was: what it accepted there would be lost. An earlier mark is
 * replaced or stays as it is, also when the process is killed, the power fails or the disk is full.
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

/** The move did not take place. */
export function unmarkMoved(dataDir: string): void {
  rmSync(join(dataDir, fileName), { force: true });
}

/** The move that began there, if one did, whether it ended or not. */
export function readMove(dataDir: string): Move | undefined {
  const path = join(dataDir, fileName);
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Move;
  } catch (error) {
    // Where there is no directory, or a file in its way, the start itself says so.
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw new Error(`${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** @throws {CommandError} when the database of the directory was moved elsewhere, or a move of it was interrupted. */
export function refuseMoved(dataDir: string): void {
  const move = readMove(dataDir);
  if (move !== undefined) throw refusalOf(dataDir, move);
}

/** Says what to do where a move is in the way. */
export function refusalOf(dataDir: string, { to, at, isDone }: Move): CommandError {
  const path = join(dataDir, fileName);
  const when = new Date(at * 1000).toISOString();
  return new CommandError(
    isDone
      ? `the database in ${dataDir} was moved to ${to} at ${when}: set DATABASE_URL; to use what is left here all the same, remove ${path}`
      : `a move of the database in ${dataDir} to ${to} began at ${when} and did not end: run postrider move again with that DATABASE_URL, which finishes it; to stay here, empty that database and remove ${path}`,
    "conflict",
  );
}
