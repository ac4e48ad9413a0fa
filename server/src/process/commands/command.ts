import { type Config, loadConfig } from "../../config/config.ts";
import { explainRefusal } from "../../postgres/untilServes.ts";
import { CommandError } from "../../runtime/commandError.ts";

/** Output functions of a command on the whole database. */
export interface Talk {
  /** Prints a line for the person at the terminal. */
  say: (line: string) => void;
  /** Shows the command's result. */
  show: (result: object) => void;
}

/** A parsed command on the whole database, and whether its result is printed as JSON. */
export interface DatabaseCommand {
  isJson: boolean;
  run: (env: NodeJS.ProcessEnv, talk: Talk) => Promise<void>;
}

/** Reads the arguments of a command, before a database is opened. @throws {CommandError} for wrong arguments. */
export type Reader = (args: string[]) => DatabaseCommand;

/** A command that runs with the service's configuration. */
export function onConfig(
  isJson: boolean,
  run: (config: Config, talk: Talk) => Promise<void>,
): DatabaseCommand {
  return {
    isJson,
    async run(env, talk) {
      const config = loadConfig(env);
      try {
        await run(config, talk);
      } catch (error) {
        throw config.databaseUrl === undefined ? error : explainRefusal(error, config.databaseUrl);
      }
    },
  };
}

/** @throws {CommandError} unless --yes confirms a command that cannot be undone. @param why what the command does. */
export function refuseWithoutYes(flags: ReadonlySet<string>, why: string): void {
  if (!flags.has("yes")) throw new CommandError(`${why}: add --yes to do it`, "usage");
}
