import { CommandError, exitCodes } from "../exitCodes.ts";

/** The source of a secret: a terminal, which then does not echo it, or a pipe. */
export type SecretSource = NodeJS.ReadableStream & {
  isTTY?: boolean | undefined;
  setRawMode?: (isRaw: boolean) => unknown;
};

const maxBytes = 4096;

/**
 * Removes blanks and line ends around a secret.
 * @throws {CommandError} when a header cannot carry it. `fetch` would throw too, but its message would contain the secret.
 */
export function carriedSecret(text: string, what: string): string {
  const secret = text.trim();
  if (!/[^!-~]/.test(secret)) return secret;
  throw new CommandError(
    `the ${what} contains a blank, a line break or another character that no key has: check its source`,
    exitCodes.credential,
  );
}

/** Reads a secret from the first line of standard input. @throws {CommandError} when it is empty, invalid or too long. */
export async function readSecret(
  source: SecretSource,
  say: (text: string) => void,
  what: string,
): Promise<string> {
  const isAsked = source.isTTY === true;
  if (isAsked) {
    say(`${what} (it is not shown):`);
    source.setRawMode?.(true);
  }
  try {
    const text = (await readLine(source)).trim();
    if (text !== "") return carriedSecret(text, what);
  } finally {
    if (isAsked) source.setRawMode?.(false);
    source.pause();
  }
  throw new CommandError(`no ${what} came from the standard input`, exitCodes.credential);
}

async function readLine(source: SecretSource): Promise<string> {
  let line = "";
  source.setEncoding("utf8");
  for await (const chunk of source as AsyncIterable<string>) {
    for (const character of chunk) {
      if (character === "\n" || character === "\r") return line;
      // Ctrl-C and Ctrl-D, which a terminal in raw mode passes on as characters.
      if (character === "\u0003" || character === "\u0004") return "";
      if (character === "\u007F" || character === "\b") line = line.slice(0, -1);
      else line += character;
    }
    if (line.length > maxBytes)
      throw new CommandError("the input is too long for an API key", exitCodes.credential);
  }
  return line;
}
