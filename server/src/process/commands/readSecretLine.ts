import { createInterface } from "node:readline";
import type { ReadStream } from "node:tty";
import { Writable } from "node:stream";

/** A line of a secret is not longer than this; what is longer is none. */
const maxCharacters = 1024;

/**
 * Reads one line from the standard input; on a terminal what is typed is not shown.
 * @throws {Error} when there is none, or more than one, or it is not UTF-8.
 */
export async function readSecretLine(
  input: NodeJS.ReadableStream & Pick<ReadStream, "isTTY">,
  prompt: (text: string) => void,
): Promise<string> {
  const isTerminal = input.isTTY;
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: isTerminal });
  // Now the terminal shows nothing of what is typed, and passes Ctrl-C on as a character.
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
  // Node decodes what is not UTF-8 as this character: nobody could type the secret again, and different ones would be equal.
  if (line.includes("\uFFFD")) throw new Error("the standard input is not UTF-8");
  return line;
}
