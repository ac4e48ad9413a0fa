import type { Server } from "../../../postgres/cellServers.ts";
import { CommandError } from "../../../runtime/commandError.ts";
import { readWords } from "../../../runtime/readWords.ts";
import { type DatabaseCommand, onConfig, type Reader, refuseWithoutYes } from "../command.ts";

export const cellUsage = `  postrider db cells                                      shows the buckets of each cell, and its place, size and load
  postrider db divide --cells <2|4|8|16> --yes            divides a database into cells, while no service runs
  postrider db distribute --yes                           places the cells on the workers of Citus, while no service runs
  postrider db undistribute --yes                         moves the cells back to the coordinator, while no service runs
  postrider db worker add <host[:port]>                   adds a PostgreSQL with Citus as a worker, also a drained one
  postrider db worker drain <host[:port]> [--remove]      moves its cells to the other workers; --remove removes it from Citus
  postrider db move-cell <cell> <host[:port]>             moves a cell to a worker, while the service runs
  postrider db drop-expired [--yes]                       shows the days past retention that are kept; --yes drops them
`;

/** Readers of the commands by the word after `db`. */
const readers: Readonly<Record<string, Reader>> = {
  cells(args) {
    const { isJson } = readWords(args, []);
    return onConfig(isJson, async (config, talk) => (await import("./listCells.ts")).listCells(config, talk));
  },
  divide(args) {
    const { isJson, flags, text } = readWords(args, ["yes"], [], ["cells"]);
    const count = Number(text("cells"));
    if (![2, 4, 8, 16].includes(count)) throw new CommandError("--cells must be 2, 4, 8 or 16", "usage");
    refuseWithoutYes(flags, "a division cannot be undone, except by restoring an earlier backup");
    return onConfig(isJson, async (config, talk) =>
      (await import("./divideDatabase.ts")).divideDatabase(config, count, talk),
    );
  },
  distribute(args) {
    const { isJson, flags } = readWords(args, ["yes"]);
    refuseWithoutYes(flags, "this moves all items to the workers of Citus, while no service may run");
    return onConfig(isJson, async (config, talk) =>
      (await import("./distributeDatabase.ts")).distributeDatabase(config, talk),
    );
  },
  undistribute(args) {
    const { isJson, flags } = readWords(args, ["yes"]);
    refuseWithoutYes(flags, "this moves all items back to the coordinator, while no service may run");
    return onConfig(isJson, async (config, talk) =>
      (await import("./distributeDatabase.ts")).undistributeDatabase(config, talk),
    );
  },
  worker([first, ...rest]) {
    if (first === "add") {
      const { isJson, words } = readWords(rest, [], ["<host[:port]>"]);
      const server = readServer(words[0]!);
      return onConfig(isJson, async (config, talk) =>
        (await import("./workerCommands.ts")).addWorker(config, server, talk),
      );
    }
    if (first !== "drain")
      throw new CommandError("use postrider db worker add or postrider db worker drain", "usage");
    const { isJson, words, flags } = readWords(rest, ["remove"], ["<host[:port]>"]);
    const server = readServer(words[0]!);
    return onConfig(isJson, async (config, talk) =>
      (await import("./workerCommands.ts")).drainWorker(config, server, flags.has("remove"), talk),
    );
  },
  "move-cell"(args) {
    const { isJson, words } = readWords(args, [], ["<cell>", "<host[:port]>"]);
    const [cell, host] = words as [string, string];
    if (!/^\d{1,2}$/.test(cell)) throw new CommandError(`"${cell}" is not the number of a cell`, "usage");
    const server = readServer(host);
    return onConfig(isJson, async (config, talk) =>
      (await import("./moveCellCommand.ts")).moveCellCommand(config, Number(cell), server, talk),
    );
  },
  "drop-expired"(args) {
    const { isJson, flags } = readWords(args, ["yes"]);
    return onConfig(isJson, async (config, talk) =>
      (await import("../dropExpired.ts")).dropExpired(config, flags.has("yes"), talk),
    );
  },
};

/** Reads the arguments after `db`. @throws {CommandError} for a wrong command. */
export function readCellCommand(args: string[]): DatabaseCommand {
  // Flags may come first, as in `postrider db --json cells`.
  const at = args.findIndex((arg) => !arg.startsWith("-"));
  const first = args[at];
  const rest = args.toSpliced(at, 1);
  if (first === undefined) throw new CommandError("name a command after postrider db", "usage");
  const read = readers[first];
  if (read !== undefined && Object.hasOwn(readers, first)) return read(rest);
  const known = Object.keys(readers).map((name) => `postrider db ${name}`);
  throw new CommandError(`there is no "${first}": ${known.join(", ")}`, "usage");
}

/** Reads `host`, `host:port` or `[address]:port`; the default port is 5432. @throws {CommandError} for other text. */
export function readServer(text: string): Server {
  const found = /^(?:\[([^\]]+)\]|([^\s:/@[\]]+))(?::(\d{1,5}))?$/.exec(text);
  const port = Number(found?.[3] ?? 5432);
  if (found === null || port < 1 || port > 65_535)
    throw new CommandError(`"${text}" is no server: write host or host:port`, "usage");
  return { host: (found[1] ?? found[2])!, port };
}
