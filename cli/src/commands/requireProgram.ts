import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { CommandError, exitCodes } from "../exitCodes.ts";

/** Where the system looks when nobody says where. */
const defaultPath = "/usr/bin:/bin";

/**
 * Refuses a program that cannot be run, before anything is claimed for it: each message would be given back, and where
 * tries are counted die of it. Where programs have suffixes that they are found without, it is not looked for.
 * @throws {CommandError} when there is no such program.
 */
export function requireProgram(file: string, { PATH: path = defaultPath }: NodeJS.ProcessEnv): void {
  if (process.platform === "win32") return;
  const places = file.includes("/") ? [file] : path.split(delimiter).map((place) => join(place, file));
  if (places.some(isProgram)) return;
  throw new CommandError(`there is no program "${file}" that can be run`, exitCodes.notFound);
}

function isProgram(place: string): boolean {
  try {
    accessSync(place, constants.X_OK);
    return statSync(place).isFile();
  } catch {
    return false;
  }
}
