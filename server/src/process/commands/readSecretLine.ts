import { createInterface } from "node:readline";
import type { ReadStream } from "node:tty";
import { Writable } from "node:stream";

/** No secret is longer than this. Reading stops after a longer line. */
const maxCharacters = 1024;

/**
 * Reads one line from the standard input; a terminal does not echo it.
 * @throws {Error} when there is no line, or more than one, or the line is not UTF-8.
 */
export async function readSecretLine(
  input: NodeJS.ReadableStream & Pick<ReadStream, "isTTY">,
  prompt: (text: string) => void,
): Promise<string> {
  const isTerminal = input.isTTY;
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: isTerminal });
  // From here on the terminal does not echo, and passes Ctrl-C on as a character.
  lines.once("SIGINT", () => lines.close());
  if (isTerminal) prompt("New password (not shown): ");
  const read: string[] = [];
  try {
    for await (const line of lines) {
      read.push(line);
      if (isTerminal || read.length > 1 || line.length > maxCharacters) break;
    }
  } finally {
    lines.close();
    if (isTerminal) prompt("\n");
  }
  const [line] = read;
  if (line === undefined) throw new Error("the standard input has no password");
  if (read.length > 1) throw new Error("the standard input has more than one line");
  // Node decodes invalid UTF-8 as this character: the secret could not be typed again, and different secrets would be equal.
  if (line.includes("\uFFFD")) throw new Error("the standard input is not UTF-8");
  return line;
}
