/** The output of a command: data goes to standard output, messages for the user go to standard error. */
export interface Output {
  readonly isJson: boolean;
  /** Prints one document: as a line of JSON, or as lines of `name  value`. */
  one: (value: object) => void;
  /** Prints a list: as one line of JSON for each row, or as a table with these columns. */
  list: (rows: readonly object[], columns: readonly string[]) => void;
  /** Prints one entry of a list that grows while the command runs: as a line of JSON, or as the text. */
  line: (value: object, text: string) => void;
  /** Prints data unchanged. */
  raw: (bytes: Uint8Array | string) => void;
  /** Prints a message for the user to standard error. */
  say: (text: string) => void;
  /** Returns the text in a colour, or unchanged if standard output shows no colours. */
  paint: (colour: Colour, text: string) => string;
}

export type Colour = "red" | "green" | "yellow" | "dim";

export interface Stream {
  write(text: string | Uint8Array): unknown;
  isTTY?: boolean | undefined;
}

const codes: Record<Colour, number> = { red: 31, green: 32, yellow: 33, dim: 2 };

export function createOutput(
  streams: { stdout: Stream; stderr: Stream },
  isJson: boolean,
  env: NodeJS.ProcessEnv,
): Output {
  const { stdout, stderr } = streams;
  const isColoured = stdout.isTTY === true && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
  const json = (value: object): void => void stdout.write(`${JSON.stringify(value)}\n`);
  return {
    isJson,
    one(value) {
      if (isJson) json(value);
      else stdout.write(asFields(value));
    },
    list(rows, columns) {
      if (isJson) rows.forEach(json);
      else if (rows.length > 0) stdout.write(asTable(rows as Record<string, unknown>[], columns));
    },
    line(value, text) {
      if (isJson) json(value);
      else stdout.write(`${text}\n`);
    },
    raw: (bytes) => void stdout.write(bytes),
    say: (text) => void stderr.write(`${text}\n`),
    paint: (colour, text) => (isColoured ? `\u001B[${codes[colour]}m${text}\u001B[0m` : text),
  };
}

type Shown = object | string | number | boolean | null | undefined;

/** A value from the service as text of one line; characters that would control the terminal are escaped. */
export function plain(value: Shown): string {
  if (value === undefined || value === null) return "-";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, (character) => {
    return `\\u${character.codePointAt(0)!.toString(16).padStart(4, "0")}`;
  });
}

/** Names of fields that contain Unix seconds. */
const momentName = /_(?:at|since|until)$/;

/** Formats a time as UTC, such as `2026-11-22 10:00:00Z`. */
export function moment(unixSeconds: number): string {
  return new Date(unixSeconds * 1000)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, "Z");
}

function shown(name: string, value: unknown): string {
  return typeof value === "number" && momentName.test(name) ? moment(value) : plain(value as Shown);
}

function asFields(value: object): string {
  const entries = Object.entries(value);
  const width = longestOf(entries.map(([name]) => name));
  return entries.map(([name, one]) => `${name.padEnd(width)}  ${shown(name, one)}\n`).join("");
}

function asTable(rows: readonly Record<string, unknown>[], columns: readonly string[]): string {
  const lines = [
    columns.map((column) => column.toUpperCase()),
    ...rows.map((row) => columns.map((column) => shown(column, row[column]))),
  ];
  const widths = columns.map((_, index) => longestOf(lines.map((line) => line[index]!)));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, index) => cell.padEnd(widths[index]!))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

/** Length of the longest text. `Math.max(...lengths)` would fail for long lists, because the number of arguments is limited. */
function longestOf(texts: readonly string[]): number {
  return texts.reduce((longest, { length }) => Math.max(longest, length), 0);
}
