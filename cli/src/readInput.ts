import { parseArgs } from "node:util";
import { type Command, type Input, optionsOf } from "./command.ts";
import { UsageError } from "./exitCodes.ts";

/** A command, the names that lead to it, and the remaining arguments. */
export interface Found {
  command: Command;
  path: readonly string[];
  args: readonly string[];
}

/** Descends from `root` as long as the next argument is the name of a subcommand. */
export function findCommand(root: Command, args: readonly string[]): Found {
  let command = root;
  let depth = 0;
  for (;;) {
    const next = command.commands?.find(({ name }) => name === args[depth]);
    if (next === undefined) break;
    command = next;
    depth++;
  }
  return { command, path: args.slice(0, depth), args: args.slice(depth) };
}

export function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end === -1 ? undefined : end).some((word) => word === "--help" || word === "-h");
}

/** Parses a command's arguments. @throws {UsageError} for unknown options, and for too few or too many arguments. */
export function readInput({ command, path, args }: Found): Input {
  const end = args.indexOf("--");
  const own = end === -1 ? args : args.slice(0, end);
  const { values, positionals } = command.isElsewhere === true ? unread : parse(command, own);
  if (command.isElsewhere !== true) checkWords(command, path, positionals);
  const text = (option: string): string | undefined => values[option] as string | undefined;
  return {
    words: positionals,
    rest: end === -1 ? [] : args.slice(end + 1),
    text,
    texts: (option) => (values[option] as string[] | undefined) ?? [],
    flag: (option) => values[option] === true,
    number(option, min, max) {
      const given = text(option);
      if (given === undefined) return undefined;
      const number = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
      if (number >= min && number <= max) return number;
      throw new UsageError(`--${option} must be a whole number from ${min} to ${max}`);
    },
  };
}

interface Parsed {
  values: Record<string, unknown>;
  positionals: string[];
}

const unread: Parsed = { values: {}, positionals: [] };

function parse(command: Command, args: readonly string[]): Parsed {
  const specified = optionsOf(command);
  const options = Object.fromEntries(
    Object.entries(specified).map(([name, { value, multiple }]) => {
      const type: "boolean" | "string" = value === undefined ? "boolean" : "string";
      return [name, { type, ...(multiple && { multiple }), ...(name === "help" && { short: "h" }) }];
    }),
  );
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    for (const [name, { choices }] of Object.entries(specified)) checkChoice(name, values[name], choices);
    return { values, positionals };
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    // Node's further sentences are advice that does not apply here.
    throw new UsageError((cause as Error).message.split(". ")[0]!.replaceAll("\n", " "), { cause });
  }
}

function checkChoice(name: string, value: unknown, choices: readonly string[] | undefined): void {
  if (choices === undefined || value === undefined) return;
  const wrong = [value].flat().find((one) => !choices.includes(one as string));
  if (wrong !== undefined) throw new UsageError(`--${name} must be one of ${choices.join(", ")}`);
}

function checkWords(command: Command, path: readonly string[], given: readonly string[]): void {
  const specified = command.words?.split(" -- ")[0]!.match(/\[[^\]]+\]|<[^>]+>…?/g) ?? [];
  const needed = specified.filter((word) => word.startsWith("<"));
  const missing = needed[given.length];
  if (missing !== undefined) throw new UsageError(`${missing.replace("…", "")} is missing`);
  const isOpen = specified.some((word) => word.includes("…"));
  if (given.length <= specified.length || isOpen) return;
  const extra = given[specified.length]!;
  if (command.commands === undefined) throw new UsageError(`unexpected argument "${extra}"`);
  throw new UsageError(`there is no command "${[...path, extra].join(" ")}"`);
}
