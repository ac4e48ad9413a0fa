import type { Command, Input } from "../command.ts";
import type { Client } from "../../../sdk/src/client.ts";
import { CommandError, exitCodes, isOutsideScope } from "../exitCodes.ts";
import { defaultProfile } from "../profile/credential.ts";
import { profilesPath, writeProfile } from "../profile/profiles.ts";
import { readSecret } from "../profile/readSecret.ts";
import { openService, type Session } from "../session.ts";

const keptIn =
  "Profiles are kept in ~/.config/postrider/profiles.json (or below XDG_CONFIG_HOME), mode 0600.";

export const loginCommand: Command = {
  name: "login",
  summary: "check an API key and store it for later commands",
  details: `The key is read from standard input, or asked for.\n${keptIn}`,
  run: logIn,
};

export const logoutCommand: Command = {
  name: "logout",
  summary: "remove a stored API key; the key itself stays valid",
  details: keptIn,
  run: logOut,
};

async function logIn({ out, env, stdin, url: urlOf }: Session, input: Input): Promise<void> {
  const url = urlOf();
  const profile = profileOf(input, env);
  const key = await readSecret(stdin, (text) => out.say(text), "API key");
  const organization = await organizationOf(openService({ url, key }, out.say).client);
  const path = profilesPath(env);
  writeProfile(path, profile, { url, key });
  out.say(`stored in ${path}`);
  out.one({ profile, url, organization });
}

/**
 * Reads the organization of the client's key: its name, or its id if the key is limited to a scope that cannot read the name. Throws
 * when the service refuses the key, does not answer, or is not Postrider; then nothing is stored.
 */
async function organizationOf(client: Pick<Client, "readMe" | "readOrganization">): Promise<string> {
  try {
    return (await client.readOrganization()).org.name;
  } catch (error) {
    if (!isOutsideScope(error)) throw error;
    return (await client.readMe()).user.org_id;
  }
}

async function logOut({ out, env }: Session, input: Input): Promise<void> {
  const profile = profileOf(input, env);
  if (!writeProfile(profilesPath(env), profile, undefined)) {
    throw new CommandError(`there is no profile "${profile}"`, exitCodes.notFound);
  }
  out.one({ profile, deleted: true });
}

function profileOf(input: Input, env: NodeJS.ProcessEnv): string {
  const fromEnv = env["POSTRIDER_PROFILE"];
  return input.text("profile") ?? (fromEnv === undefined || fromEnv === "" ? defaultProfile : fromEnv);
}
