import { loadConfig } from "../config/config.ts";
import { CommandError } from "../runtime/commandError.ts";
import { cellUsage, readCellCommand } from "./cellCommands.ts";
import { readWords } from "./commandWords.ts";

/** Output of a command on the whole database. */
export interface Talk {
  /** Prints a line for the person at the terminal. */
  say: (line: string) => void;
  /** Shows the command's result. */
  show: (result: object) => void;
}

export const databaseUsage = `  postrider backup <file>                                 backs up the whole database into a new file, while the service runs
  postrider restore <file>                                restores a backup into an empty database
  postrider reset --yes                                   deletes all data; the encryption key stays
  postrider move [--stop-service]                         moves the embedded database to the one in DATABASE_URL
${cellUsage}      all take --json
`;

const names = ["backup", "restore", "reset", "move", "db"] as const;
export type DatabaseCommandName = (typeof names)[number];

export function isDatabaseCommand(name: string): name is DatabaseCommandName {
  return names.includes(name as DatabaseCommandName);
}

/** The words and flags of a command, and whether its result is wanted as JSON. */
export interface DatabaseCommand {
  isJson: boolean;
  run: (env: NodeJS.ProcessEnv, talk: Talk) => Promise<void>;
}

/** Reads a command before anything is opened. @throws {CommandError} for a wrong one. */
export function readDatabaseCommand(name: DatabaseCommandName, args: string[]): DatabaseCommand {
  switch (name) {
    case "backup": {
      const { isJson, words } = readWords(args, [], ["<file>"]);
      return {
        isJson,
        run: async (env, talk) => (await import("./backUp.ts")).backUp(loadConfig(env), words[0]!, talk),
      };
    }
    case "restore": {
      const { isJson, words } = readWords(args, [], ["<file>"]);
      return {
        isJson,
        run: async (env, talk) => (await import("./restore.ts")).restore(loadConfig(env), words[0]!, talk),
      };
    }
    case "reset": {
      const { isJson, flags } = readWords(args, ["yes"]);
      if (!flags.has("yes")) {
        throw new CommandError(
          "this removes all organizations, targets and items: add --yes to do it",
          "usage",
        );
      }
      return {
        isJson,
        run: async (env, talk) => (await import("./resetDatabase.ts")).resetDatabase(loadConfig(env), talk),
      };
    }
    case "db":
      return readCellCommand(args);
    case "move": {
      const { isJson, flags } = readWords(args, ["stop-service"]);
      return {
        isJson,
        run: async (env, talk) =>
          (await import("./moveDatabase.ts")).moveDatabase(env, flags.has("stop-service"), talk),
      };
    }
  }
}
