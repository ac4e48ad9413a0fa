import { parseArgs } from "node:util";
import { exitCodeOf, UsageError } from "../exitCodes.ts";
import { findConnection } from "./credential.ts";

/**
 * For `postrider mcp`, whose tools are the service's: finds which service and which key are meant, as every command of a
 * client does, and leaves both in the environment.
 * @returns whether they are there; what is wrong was said, and the exit code set.
 */
export async function provideConnection(
  args: readonly string[],
  process: Pick<NodeJS.Process, "env" | "stdin" | "stderr" | "exitCode">,
): Promise<boolean> {
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  try {
    const { server, profile } = read(args);
    // The standard input is the agent's, and no key can come from there.
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
