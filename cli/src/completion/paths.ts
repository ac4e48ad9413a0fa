import { type Command, type Option, optionsOf, type Options } from "../command.ts";

/** Suggestions for a command's arguments: names of things in the service. */
export type Names = keyof typeof listings;

/** The commands that print them, behind `postrider`. */
const listings = {
  target: "target list --names",
  mailbox: "target list --names --kind mailbox",
  "event-type": "event-type list --names",
  customer: "customer list --names",
} as const;

const naming = new RegExp(`^[<[]?(${Object.keys(listings).join("|")})\\b`, "i");

/** A place in the tree of commands, and what may stand there. */
export interface Place {
  /** The words that lead there, with single spaces; empty at the root. */
  path: string;
  commands: readonly Command[];
  options: Options;
  /** Words that may stand there, where they are few. */
  words: readonly string[];
  /** The kind of names that may stand there. */
  names: Names | undefined;
  /** Whether files may. */
  takesFiles: boolean;
}

/** All places, the root first. */
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

/** A completion, with its description. */
export function choicesOf({ commands, options, words }: Place): { word: string; help: string }[] {
  return [
    ...commands.map(({ name, summary }) => ({ word: name, help: summary })),
    ...words.map((word) => ({ word, help: word })),
    ...Object.entries(options).map(([name, { help }]) => ({ word: `--${name}`, help })),
  ];
}

/** An option that has a value: the values there are, whose names they are, whether it is a file, or nothing known. */
export interface ValuedOption {
  flag: string;
  choices: readonly string[];
  names: Names | undefined;
  takesFiles: boolean;
}

/** The options of all places that take a value, each once. */
export function valuedOptions(places: readonly Place[]): ValuedOption[] {
  const found = new Map<string, ValuedOption>();
  for (const { options } of places) {
    for (const [name, option] of Object.entries(options)) {
      const flag = `--${name}`;
      if (option.type === "string" && !found.has(flag)) found.set(flag, valuedOption(flag, option));
    }
  }
  return [...found.values()];
}

function valuedOption(flag: string, { choices = [], value = "" }: Option): ValuedOption {
  return { flag, choices, names: namesIn(value), takesFiles: value === "FILE" };
}

/** The command that prints the names, behind `postrider`. */
export function listingOf(names: Names): string {
  return listings[names];
}

/** The patterns of a shell's `case`: subcommands, and options with a value. */
export function casesOf(root: Command): { places: Place[]; deeper: string; valued: ValuedOption[] } {
  const places = placesOf(root);
  const paths = places.map(({ path }) => path).filter((path) => path !== "");
  return { places, deeper: paths.map(quoted).join(" | "), valued: valuedOptions(places) };
}

/** A `case` of bash and zsh over a word. */
export function caseOf(word: string, branches: readonly string[]): string {
  return `case ${word} in\n${branches.join("\n")}\n  esac`;
}

/** As one word of a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
