import { parseArgs } from "node:util";
import { type Config, loadConfig } from "../../config/config.ts";
import { CommandError } from "../../runtime/commandError.ts";

/** Output of a command on the whole database. */
export interface Talk {
  /** Prints a line for the person at the terminal. */
  say: (line: string) => void;
  /** Shows the command's result. */
  show: (result: object) => void;
}

/** A command on the whole database, read but not begun, and whether its result is wanted as JSON. */
export interface DatabaseCommand {
  isJson: boolean;
  run: (env: NodeJS.ProcessEnv, talk: Talk) => Promise<void>;
}

/** Reads the arguments of a command, before anything is opened. @throws {CommandError} for wrong ones. */
export type Reader = (args: string[]) => DatabaseCommand;

/** A command that runs with the service's configuration. */
export function onConfig(
  isJson: boolean,
  run: (config: Config, talk: Talk) => Promise<void>,
): DatabaseCommand {
  return { isJson, run: async (env, talk) => run(loadConfig(env), talk) };
}

/** The arguments of a command. */
export interface Words {
  isJson: boolean;
  words: string[];
  flags: Set<string>;
  text: (name: string) => string | undefined;
}

/**
 * Reads the arguments of a command, with `--json`.
 * @param needed what its words are, as messages name them.
 * @throws {CommandError} when a word is missing or too much, or a flag unknown.
 */
export function readWords(
  args: readonly string[],
  flags: readonly string[],
  needed: readonly string[] = [],
  texts: readonly string[] = [],
): Words {
  const { values, positionals: words } = parseWords(args, ["json", ...flags], texts);
  const missing = needed[words.length];
  if (missing !== undefined) throw new CommandError(`${missing} is missing`, "usage");
  const extra = words[needed.length];
  if (extra !== undefined) throw new CommandError(`unexpected argument "${extra}"`, "usage");
  const given = new Set(Object.keys(values));
  const text = (name: string): string | undefined => values[name] as string | undefined;
  return { isJson: given.has("json"), words, flags: given, text };
}

function parseWords(
  args: readonly string[],
  flags: readonly string[],
  texts: readonly string[],
): { values: Record<string, unknown>; positionals: string[] } {
  const options = Object.fromEntries([
    ...flags.map((name) => [name, { type: "boolean" as const }] as const),
    ...texts.map((name) => [name, { type: "string" as const }] as const),
  ]);
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (cause) {
    throw new CommandError((cause as Error).message, "usage", { cause });
  }
}
