import { parseArgs } from "node:util";
import { loadConfig } from "../config/config.ts";
import { CommandError } from "../runtime/commandError.ts";

/** Whom a command of the whole database talks to. */
export interface Talk {
  /** For the person at the terminal. */
  say: (line: string) => void;
  /** Shows the command's result. */
  show: (result: object) => void;
}

export const databaseUsage = `  postrider backup <file>                                 writes the whole database into a new file, while the service runs
  postrider restore <file>                                brings a backup back, into an empty database
  postrider reset --yes                                   removes everything; the encryption key stays
  postrider move [--stop-service]                         moves the embedded database to that of DATABASE_URL
  postrider db cells                                      shows where the items of which buckets are, and how much
  postrider db divide --cells <2|4|8|16> --yes            divides a database into so many cells, while no service runs
  postrider db drop-expired [--yes]                       shows the days past retention that are kept; with --yes, drops them all
      all take --json
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
      const { isJson, word } = parse(args, [], "<file>");
      return {
        isJson,
        run: async (env, talk) => (await import("./backUp.ts")).backUp(loadConfig(env), word!, talk),
      };
    }
    case "restore": {
      const { isJson, word } = parse(args, [], "<file>");
      return {
        isJson,
        run: async (env, talk) => (await import("./restore.ts")).restore(loadConfig(env), word!, talk),
      };
    }
    case "reset": {
      const { isJson, flags } = parse(args, ["yes"]);
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
      const { isJson, flags } = parse(args, ["stop-service"]);
      return {
        isJson,
        run: async (env, talk) =>
          (await import("./moveDatabase.ts")).moveDatabase(env, flags.has("stop-service"), talk),
      };
    }
  }
}

function readCellCommand(args: string[]): DatabaseCommand {
  const { isJson, word, flags, text } = parse(args, ["yes"], "what to do", ["cells"]);
  if (word === "cells") {
    return {
      isJson,
      run: async (env, talk) => (await import("./listCells.ts")).listCells(loadConfig(env), talk),
    };
  }
  if (word === "drop-expired") {
    return {
      isJson,
      run: async (env, talk) =>
        (await import("./dropExpired.ts")).dropExpired(loadConfig(env), flags.has("yes"), talk),
    };
  }
  if (word !== "divide") {
    throw new CommandError(
      `there is no "${word}": postrider db cells, postrider db divide, postrider db drop-expired`,
      "usage",
    );
  }
  const count = Number(text("cells"));
  if (![2, 4, 8, 16].includes(count))
    throw new CommandError("--cells says into how many: 2, 4, 8 or 16", "usage");
  if (!flags.has("yes")) {
    throw new CommandError(
      "a divided database stays so, and only a backup from before brings the undivided one back: add --yes to do it",
      "usage",
    );
  }
  return {
    isJson,
    run: async (env, talk) =>
      (await import("./divideDatabase.ts")).divideDatabase(loadConfig(env), count, talk),
  };
}

function parse(
  args: string[],
  flags: readonly string[],
  needed?: string,
  texts: readonly string[] = [],
): {
  isJson: boolean;
  word: string | undefined;
  flags: Set<string>;
  text: (name: string) => string | undefined;
} {
  const { values, positionals } = parseWords(args, ["json", ...flags], texts);
  if (needed !== undefined && positionals.length === 0)
    throw new CommandError(`${needed} is missing`, "usage");
  const extra = positionals[needed === undefined ? 0 : 1];
  if (extra !== undefined) throw new CommandError(`"${extra}" is too much`, "usage");
  const given = new Set(Object.keys(values));
  const text = (name: string): string | undefined => values[name] as string | undefined;
  return { isJson: given.has("json"), word: positionals[0], flags: given, text };
}

function parseWords(
  args: string[],
  flags: readonly string[],
  texts: readonly string[],
): { values: Record<string, unknown>; positionals: string[] } {
  const options = Object.fromEntries([
    ...flags.map((name) => [name, { type: "boolean" as const }] as const),
    ...texts.map((name) => [name, { type: "string" as const }] as const),
  ]);
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (cause) {
    throw new CommandError((cause as Error).message, "usage", { cause });
  }
}
