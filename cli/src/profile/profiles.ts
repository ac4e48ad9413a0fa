import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { CommandError, exitCodes } from "../exitCodes.ts";

/** A profile, as `postrider login` stores it. */
export interface Profile {
  url: string;
  key: string;
}

type Profiles = Record<string, Profile>;

/** Path of the file of profiles: `postrider/profiles.json` below XDG_CONFIG_HOME or `~/.config`. */
export function profilesPath(env: NodeJS.ProcessEnv): string {
  const configured = env["XDG_CONFIG_HOME"] ?? "";
  const base = configured === "" ? join(env["HOME"] ?? homedir(), ".config") : configured;
  return join(base, "postrider", "profiles.json");
}

/** The profile of that name, if there is one. @throws {CommandError} when others can open the file, or it is invalid. */
export function readProfile(path: string, name: string): Profile | undefined {
  const profiles = readProfiles(path);
  return Object.hasOwn(profiles, name) ? profiles[name] : undefined;
}

/** Stores a profile, or removes it if undefined, in a file that only its owner can read. @returns whether it existed before. */
export function writeProfile(path: string, name: string, profile: Profile | undefined): boolean {
  const { [name]: before, ...others } = readProfiles(path);
  const all = profile === undefined ? others : { ...others, [name]: profile };
  createFolder(dirname(path));
  // Written to another file and renamed, so that an interrupted write leaves the old file.
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(all, undefined, 2)}\n`, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, path);
  return before !== undefined;
}

/** Creates a folder and its parents. Node's `recursive` tries forever where mkdir answers ENOENT, as below /proc. */
function createFolder(path: string): void {
  if (existsSync(path)) return;
  createFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it.
    if (!existsSync(path)) throw error;
  }
}

function readProfiles(path: string): Profiles {
  const text = readOptional(path);
  if (text === undefined) return {};
  if (isOpenToOthers(path)) {
    throw new CommandError(
      `${path} contains API keys, and other users can open it: chmod 600 ${path}`,
      exitCodes.credential,
    );
  }
  try {
    const profiles: unknown = JSON.parse(text);
    if (!areProfiles(profiles)) throw new Error("it does not contain profiles");
    return profiles;
  } catch (cause) {
    throw new CommandError(
      `${path} cannot be read (${(cause as Error).message}): remove it, and log in again`,
      exitCodes.credential,
      { cause },
    );
  }
}

function areProfiles(value: unknown): value is Profiles {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value as Record<string, Partial<Profile> | null>).every(
    (profile) => typeof profile?.url === "string" && typeof profile.key === "string",
  );
}

function isOpenToOthers(path: string): boolean {
  return process.platform !== "win32" && (statSync(path).mode & 0o077) !== 0;
}

function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
