import { databaseCommands } from "../../src/process/databaseCommands.ts";
import { exitCodeOf } from "../../src/runtime/commandError.ts";

/** The result of a database command; `err` is its error output, with the error at the end. */
export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/**
 * Runs a command to its end within this process, because starting a process for each takes too long. `said`
 * receives each line at once.
 */
export async function runDatabaseCommand(
  args: readonly string[],
  env: Record<string, string>,
  said: string[] = [],
): Promise<Ended> {
  const [name, ...rest] = args;
  let out = "";
  try {
    const command = databaseCommands[name!]!(rest);
    await command.run(env, {
      say: (line) => void said.push(line),
      show: (result) => (out += JSON.stringify(result)),
    });
    return { code: 0, out, err: said.join("\n") };
  } catch (error) {
    return { code: exitCodeOf(error), out, err: [...said, (error as Error).message].join("\n") };
  }
}
