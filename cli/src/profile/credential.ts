import { CommandError, exitCodes, UsageError } from "../exitCodes.ts";
import { profilesPath, readProfile } from "./profiles.ts";
import { carriedSecret, readSecret, type SecretSource } from "./readSecret.ts";

/** The address of a service, and the API key for it. */
export interface Connection {
  url: string;
  key: string;
}

export interface Asked {
  url: string | undefined;
  profile: string | undefined;
  keyStdin: boolean;
}

export interface Surroundings {
  env: NodeJS.ProcessEnv;
  stdin: SecretSource;
  say: (text: string) => void;
}

const defaultUrl = "http://127.0.0.1:8080";
export const defaultProfile = "default";

/**
 * Finds the service and the API key of a command: in the options, else in the environment, else in the profile.
 * @throws {CommandError} when there is no key, the profile's key is for another service, or no header can carry the key.
 */
export async function findConnection(asked: Asked, around: Surroundings): Promise<Connection> {
  const { env } = around;
  const { name, profile, url } = findService(asked, env);
  if (asked.keyStdin) return { url, key: await readSecret(around.stdin, around.say, "API key") };
  const key = asked.profile === undefined ? nonEmpty(env["POSTRIDER_KEY"]) : undefined;
  if (key !== undefined) return { url, key: carriedSecret(key, "API key") };
  if (profile === undefined) {
    throw new CommandError(
      name === defaultProfile
        ? "no API key: set POSTRIDER_KEY, pass it with --key-stdin, or store it with postrider login"
        : `there is no profile "${name}": create it with: postrider login --profile ${name}`,
      exitCodes.credential,
    );
  }
  // A profile's key is sent only to the service for which it was stored.
  if (profile.url !== url) {
    throw new CommandError(
      `the key of the profile "${name}" is for ${profile.url}, not for ${url}: set POSTRIDER_KEY, or log in there with --profile`,
      exitCodes.credential,
    );
  }
  return { url, key: profile.key };
}

/** Finds the address of a command's service: in the options, else in the environment, else in the profile. */
export function findUrl(asked: Pick<Asked, "url" | "profile">, env: NodeJS.ProcessEnv): string {
  return findService(asked, env).url;
}

function findService(asked: Pick<Asked, "url" | "profile">, env: NodeJS.ProcessEnv) {
  const name = asked.profile ?? nonEmpty(env["POSTRIDER_PROFILE"]) ?? defaultProfile;
  const profile = readProfile(profilesPath(env), name);
  const url = readUrl(asked.url ?? nonEmpty(env["POSTRIDER_URL"]) ?? profile?.url ?? defaultUrl);
  return { name, profile, url };
}

/** A service's address without slashes at the end. @throws {UsageError} when it is not an HTTP URL, or contains credentials. */
function readUrl(text: string): string {
  const isUrl = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
  const { username = "", password = "", href = "" } = isUrl ? new URL(text) : {};
  if (!isUrl || `${username}${password}` !== "") {
    throw new UsageError(
      "the service's address must be a URL such as https://postrider.example.com, without credentials",
    );
  }
  return href.replace(/\/+$/, "");
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
