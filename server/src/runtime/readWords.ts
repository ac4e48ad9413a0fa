import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { CommandError } from "./commandError.ts";

/**
 * Parses the arguments of a command, including `--json`.
 * @param needed The names of the required arguments, for messages.
 * @throws {CommandError} if an argument is missing or superfluous, or a flag is unknown.
 */
export function readWords(
  args: readonly string[],
  flags: readonly string[],
  needed: readonly string[] = [],
  texts: readonly string[] = [],
) {
  const { values, positionals: words } = parse(args, {
    json: { type: "boolean" },
    ...Object.fromEntries(flags.map((name) => [name, { type: "boolean" }])),
    ...Object.fromEntries(texts.map((name) => [name, { type: "string" }])),
  });
  const missing = needed[words.length];
  if (missing !== undefined) throw new CommandError(`${missing} is missing`, "usage");
  const extra = words[needed.length];
  if (extra !== undefined) throw new CommandError(`unexpected argument "${extra}"`, "usage");
  const given = new Set(Object.keys(values));
  const text = (name: string): string | undefined => values[name] as string | undefined;
  return { isJson: given.has("json"), words, flags: given, text };
}

function parse(args: readonly string[], options: ParseArgsOptionsConfig) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (cause) {
    throw new CommandError((cause as Error).message, "usage", { cause });
  }
}
