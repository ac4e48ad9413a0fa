import { CommandError } from "../runtime/commandError.ts";
import { cellUsage, readCellCommand } from "./commands/cells/cellCommands.ts";
import { type DatabaseCommand, onConfig, readWords } from "./commands/command.ts";

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

/** Reads a command before anything is opened. @throws {CommandError} for a wrong one. */
export function readDatabaseCommand(name: DatabaseCommandName, args: string[]): DatabaseCommand {
  switch (name) {
    case "backup": {
      const { isJson, words } = readWords(args, [], ["<file>"]);
      return onConfig(isJson, async (config, talk) =>
        (await import("./commands/backUp.ts")).backUp(config, words[0]!, talk),
      );
    }
    case "restore": {
      const { isJson, words } = readWords(args, [], ["<file>"]);
      return onConfig(isJson, async (config, talk) =>
        (await import("./commands/restore.ts")).restore(config, words[0]!, talk),
      );
    }
    case "reset": {
      const { isJson, flags } = readWords(args, ["yes"]);
      if (!flags.has("yes")) {
        throw new CommandError(
          "this removes all organizations, targets and items: add --yes to do it",
          "usage",
        );
      }
      return onConfig(isJson, async (config, talk) =>
        (await import("./commands/resetDatabase.ts")).resetDatabase(config, talk),
      );
    }
    case "db":
      return readCellCommand(args);
    case "move": {
      const { isJson, flags } = readWords(args, ["stop-service"]);
      return {
        isJson,
        run: async (env, talk) =>
          (await import("./commands/moveDatabase.ts")).moveDatabase(env, flags.has("stop-service"), talk),
      };
    }
  }
}
