import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CommandError } from "./commandError.ts";

const fileName = "moved.json";

interface Move {
  /** Where to, without credentials. */
  to: string;
  /** Unix seconds. */
  at: number;
  isDone: boolean;
}

/** Keeps a service off an embedded database that is being moved, or was: what it accepted there would be lost. */
export function markMoved(dataDir: string, move: Move): void {
  writeFileSync(join(dataDir, fileName), `${JSON.stringify(move)}\n`, { mode: 0o600, flush: true });
}

/** The move did not take place. */
export function unmarkMoved(dataDir: string): void {
  rmSync(join(dataDir, fileName), { force: true });
}

/** @throws {CommandError} when the database of the directory was moved elsewhere. */
export function refuseMoved(dataDir: string): void {
  const path = join(dataDir, fileName);
  const move = readMove(path);
  if (move === undefined) return;
  const when = new Date(move.at * 1000).toISOString();
  throw new CommandError(
    move.isDone
      ? `the database in ${dataDir} was moved to ${move.to} at ${when}: set DATABASE_URL; to use what is left here all the same, remove ${path}`
      : `a move of the database in ${dataDir} to ${move.to} began at ${when} and did not end: look whether it is there, and run postrider move again or remove ${path}`,
    "conflict",
  );
}

function readMove(path: string): Move | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Move;
  } catch (error) {
    // Where there is no directory, or a file in its way, the start itself says so.
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw new Error(`${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
