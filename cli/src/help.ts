import { type Command, commonOptions, connectionOptions, type Options } from "./command.ts";

/** The text of `--help` for a command, at any level. */
export function helpOf(command: Command, path: readonly string[]): string {
  const name = ["postrider", ...path].join(" ");
  const parts = [`${name}: ${command.summary}`];
  if (command.run !== undefined) parts.push(usageLine(command, name));
  if (command.commands !== undefined)
    parts.push(table(command.commands.map((one) => [wordsOf(one), one.summary])));
  if (command.details !== undefined) parts.push(command.details);
  if (command.options !== undefined) parts.push(`Options:\n${optionTable(command.options)}`);
  if (command.run !== undefined || path.length === 0) {
    const common = command.isLocal === true ? commonOptions : { ...connectionOptions, ...commonOptions };
    parts.push(
      `${path.length === 0 ? "Options of most commands" : "Common options"}:\n${optionTable(common)}`,
    );
  }
  if (path.length === 0) parts.push(exits);
  return `${parts.join("\n\n")}\n`;
}

const exits = `Exit codes: 0 success, 1 failure, 2 wrong command, 3 missing or refused credential, 4 not found, 5 conflict.
Data goes to standard output, everything else to standard error. postrider <command> --help describes a command.`;

function usageLine({ words, options }: Command, name: string): string {
  const hasOptions = options !== undefined;
  const [own, rest] = (words ?? "").split(" -- ");
  return `Usage: ${[name, own, hasOptions ? "[options]" : "", rest === undefined ? "" : `-- ${rest}`]
    .filter((part) => part !== undefined && part !== "")
    .join(" ")}`;
}

function wordsOf({ name, words }: Command): string {
  return words === undefined ? name : `${name} ${words}`;
}

function optionTable(options: Options): string {
  return table(
    Object.entries(options).map(([name, { value, help, choices }]) => [
      `--${name}${value === undefined ? "" : ` ${value}`}`,
      choices === undefined ? help : `${help}: ${choices.join(", ")}`,
    ]),
  );
}

const lineWidth = 100;

function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.min(40, Math.max(...rows.map(([left]) => left.length)));
  return rows
    .map(([left, right]) => {
      const lines = wrapped(right, lineWidth - width - 4);
      if (left.length > width) lines.unshift("");
      return lines
        .map((line, index) => `  ${(index === 0 ? left : "").padEnd(width)}  ${line}`.trimEnd())
        .join("\n");
    })
    .join("\n");
}

function wrapped(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trimStart();
    if (longer.length > width && lines.at(-1) !== "") lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}
