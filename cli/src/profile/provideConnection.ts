import { parseArgs } from "node:util";
import { exitCodeOf, UsageError } from "../exitCodes.ts";
import { findConnection } from "./credential.ts";

/**
 * Finds the service and the API key for `postrider mcp` in the same way as for client commands, and sets POSTRIDER_URL and
 * POSTRIDER_KEY in the environment.
 * @returns whether both were found; if not, the error has been printed and the exit code set.
 */
export async function provideConnection(
  args: readonly string[],
  process: Pick<NodeJS.Process, "env" | "stdin" | "stderr" | "exitCode">,
): Promise<boolean> {
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  try {
    const { server, profile } = read(args);
    // The agent sends its requests over standard input, so the key cannot be read from there.
    const asked = { url: server, profile, keyStdin: false };
    const { url, key } = await findConnection(asked, { env: process.env, stdin: process.stdin, say });
    Object.assign(process.env, { POSTRIDER_URL: url, POSTRIDER_KEY: key });
    return true;
  } catch (error) {
    say(`postrider: ${(error as Error).message}`);
    process.exitCode = exitCodeOf(error);
    return false;
  }
}

function read(args: readonly string[]): { server?: string | undefined; profile?: string | undefined } {
  if (args.some((word) => word.includes("ak_live_"))) {
    throw new UsageError("an API key must not be an argument: set POSTRIDER_KEY, or run postrider login");
  }
  try {
    return parseArgs({
      args: [...args],
      options: { server: { type: "string" }, profile: { type: "string" } },
    }).values;
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause });
  }
}
