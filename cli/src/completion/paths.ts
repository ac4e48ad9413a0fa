import { type Command, type Option, optionsOf, type Options } from "../command.ts";

/** Kinds of names that are stored in the service and offered as completions. */
export type Names = keyof typeof listings;

/** Arguments of `postrider` that print the names, one per line. */
const listings = {
  target: "target list --names",
  mailbox: "target list --names --kind mailbox",
  "event-type": "event-type list --names",
  customer: "customer list --names",
} as const;

const naming = new RegExp(`^[<[]?(${Object.keys(listings).join("|")})\\b`, "i");

/** A command in the tree, and the completions after it. */
export interface Place {
  /** Names of the commands from the root to this one, separated by single spaces; empty for the root. */
  path: string;
  commands: readonly Command[];
  options: Options;
  /** Completions of the arguments, if they are few. */
  words: readonly string[];
  /** Kind of the names that the arguments may be. */
  names: Names | undefined;
  /** Whether the arguments may be files. */
  takesFiles: boolean;
}

/** All commands of the tree, the root first. */
export function placesOf(root: Command): Place[] {
  const visit = (command: Command, path: string): Place[] => [
    placeOf(command, path),
    ...(command.commands ?? []).flatMap((one) => visit(one, path === "" ? one.name : `${path} ${one.name}`)),
  ];
  return visit(root, "");
}

function placeOf(command: Command, path: string): Place {
  const { commands = [], words = "", wordChoices = [] } = command;
  return {
    path,
    commands,
    options: path === "" ? {} : optionsOf(command),
    words: wordChoices,
    names: namesIn(words),
    takesFiles: /file|command/.test(words),
  };
}

function namesIn(text: string): Names | undefined {
  return (naming.exec(text)?.[1]?.toLowerCase() as Names | undefined) ?? undefined;
}

/** The completions after a command, with their descriptions. */
export function choicesOf({ commands, options, words }: Place): { word: string; help: string }[] {
  return [
    ...commands.map(({ name, summary }) => ({ word: name, help: summary })),
    ...words.map((word) => ({ word, help: word })),
    ...Object.entries(options).map(([name, { help }]) => ({ word: `--${name}`, help })),
  ];
}

/** An option that has a value, and the value's completions: fixed values, names from the service, or files; or none. */
export interface ValuedOption {
  flag: string;
  choices: readonly string[];
  names: Names | undefined;
  takesFiles: boolean;
}

/** The options with a value of all commands, each once. */
export function valuedOptions(places: readonly Place[]): ValuedOption[] {
  const found = new Map<string, ValuedOption>();
  for (const { options } of places) {
    for (const [name, option] of Object.entries(options)) {
      const flag = `--${name}`;
      if (option.value !== undefined && !found.has(flag)) found.set(flag, valuedOption(flag, option));
    }
  }
  return [...found.values()];
}

function valuedOption(flag: string, { choices = [], value = "" }: Option): ValuedOption {
  return { flag, choices, names: namesIn(value), takesFiles: value === "FILE" };
}

/** Arguments of `postrider` that print these names. */
export function listingOf(names: Names): string {
  return listings[names];
}

/** Data for the `case` statements of bash and zsh: commands, a pattern for the paths of all commands, options with a value. */
export function casesOf(root: Command): { places: Place[]; deeper: string; valued: ValuedOption[] } {
  const places = placesOf(root);
  const paths = places.map(({ path }) => path).filter((path) => path !== "");
  return { places, deeper: paths.map(quoted).join(" | "), valued: valuedOptions(places) };
}

/** A `case` statement of bash or zsh. */
export function caseOf(word: string, branches: readonly string[]): string {
  return `case ${word} in\n${branches.join("\n")}\n  esac`;
}

/** Quotes a text, so that bash and zsh read it as one word. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
