import { type Command, connectionOptions } from "./command.ts";
import { CommandError, exitCodes } from "./exitCodes.ts";

const billingStates = ["pending", "active", "grace", "suspended", "exempt"];

const described: readonly Pick<Command, "name" | "words" | "wordChoices" | "summary" | "options">[] = [
  {
    name: "serve",
    summary: "run the service",
    options: {
      roles: { value: "LIST", help: "roles of this process, such as api,dispatcher" },
    },
  },
  {
    name: "org",
    words: "<command>",
    wordChoices: ["create", "list", "show", "set-state", "settle-batch"],
    summary: "manage organizations, as an operator: create, list, show, set-state, settle-batch",
    options: {
      exempt: { help: "create it free of charge" },
      state: { value: "STATE", choices: billingStates, help: "billing state" },
      email: { value: "ADDRESS", help: "create it with an owner who has this address" },
      reason: { value: "TEXT", help: "reason of a change of the state, for the record" },
    },
  },
  { name: "reset-password", words: "<email>", summary: "set a new password for a user, as an operator" },
  {
    name: "backup",
    words: "<file>",
    summary: "back up the whole database into one file, while the service runs",
  },
  { name: "restore", words: "<file>", summary: "restore a backup into an empty database" },
  {
    name: "reset",
    summary: "delete all data",
    options: { yes: { help: "confirm" } },
  },
  {
    name: "db",
    words: "<command>",
    wordChoices: ["cells", "divide", "distribute", "undistribute", "worker", "move-cell", "drop-expired"],
    summary: "show the cells of the database, divide it, place its cells on servers",
    options: {
      cells: {
        value: "COUNT",
        choices: ["2", "4", "8", "16"],
        help: "number of cells to divide it into",
      },
      yes: { help: "confirm" },
      remove: { help: "remove a drained worker from Citus" },
    },
  },
  {
    name: "mcp",
    summary: "serve tools to an agent (MCP), over standard input and output",
    options: { server: connectionOptions["server"]!, profile: connectionOptions["profile"]! },
  },
  {
    name: "move",
    summary: "move from the embedded database to the one in DATABASE_URL",
    options: {
      "stop-service": { help: "end the service that runs on the embedded database" },
    },
  },
];

/**
 * The operator's commands, for help and completion. The package `postrider` runs them itself (`server/bin/load.cjs`); in the
 * package of the client commands, they fail with a message that names that package.
 */
export const serviceCommands: readonly Command[] = described.map((command) =>
  Object.assign(command, { isLocal: true, isElsewhere: true, run: refuse(command.name) }),
);

function refuse(name: string): () => Promise<void> {
  return () =>
    Promise.reject(
      new CommandError(
        `"${name}" is a command of the service, which @postrider/cli does not contain: run it where the service is installed, with the package postrider; in a clone: npx node server/bin/postrider.cjs ${name}`,
        exitCodes.usage,
      ),
    );
}
