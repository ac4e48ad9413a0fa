import { type Command, optionsOf, type Options } from "../command.ts";

/** A place in the tree of commands, and what may stand there. */
export interface Place {
  /** The words that lead there, with single spaces; empty at the root. */
  path: string;
  commands: readonly Command[];
  options: Options;
}

/** All places, the root first. */
export function placesOf(root: Command): Place[] {
  const visit = (command: Command, path: string): Place[] => [
    { path, commands: command.commands ?? [], options: path === "" ? {} : optionsOf(command) },
    ...(command.commands ?? []).flatMap((one) => visit(one, path === "" ? one.name : `${path} ${one.name}`)),
  ];
  return visit(root, "");
}

/** What may be typed at a place, with a description. */
export function choicesOf({ commands, options }: Place): { word: string; help: string }[] {
  return [
    ...commands.map(({ name, summary }) => ({ word: name, help: summary })),
    ...Object.entries(options).map(([name, { help }]) => ({ word: `--${name}`, help })),
  ];
}

/** The options whose values are few: their names with the values. */
export function valuesOf(places: readonly Place[]): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const { options } of places) {
    for (const [name, { choices }] of Object.entries(options)) if (choices) found.set(`--${name}`, choices);
  }
  return found;
}

/** As one word of a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
