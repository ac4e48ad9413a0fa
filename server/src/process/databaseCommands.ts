import { cellUsage, readCellCommand } from "./commands/cells/cellCommands.ts";
import { readWords } from "../runtime/readWords.ts";
import { onConfig, type Reader, refuseWithoutYes } from "./commands/command.ts";

export const databaseUsage = `  postrider backup <file>                                 backs up the whole database into a new file, while the service runs
  postrider restore <file>                                restores a backup into an empty database
  postrider reset --yes                                   deletes all data; the encryption key stays
  postrider move [--stop-service]                         moves the embedded database to the one in DATABASE_URL
${cellUsage}      all of them accept --json
`;

/** The commands on the whole database, by name. */
export const databaseCommands: Readonly<Record<string, Reader>> = {
  backup(args) {
    const { isJson, words } = readWords(args, [], ["<file>"]);
    return onConfig(isJson, async (config, talk) =>
      (await import("./commands/backUp.ts")).backUp(config, words[0]!, talk),
    );
  },
  restore(args) {
    const { isJson, words } = readWords(args, [], ["<file>"]);
    return onConfig(isJson, async (config, talk) =>
      (await import("./commands/restore.ts")).restore(config, words[0]!, talk),
    );
  },
  reset(args) {
    const { isJson, flags } = readWords(args, ["yes"]);
    refuseWithoutYes(flags, "this removes all organizations, targets and items");
    return onConfig(isJson, async (config, talk) =>
      (await import("./commands/resetDatabase.ts")).resetDatabase(config, talk),
    );
  },
  move(args) {
    const { isJson, flags } = readWords(args, ["stop-service"]);
    return {
      isJson,
      run: async (env, talk) =>
        (await import("./commands/moveDatabase.ts")).moveDatabase(env, flags.has("stop-service"), talk),
    };
  },
  db: readCellCommand,
};
