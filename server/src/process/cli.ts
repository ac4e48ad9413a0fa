#!/usr/bin/env node
import { userInfo } from "node:os";
import { parseArgs } from "node:util";
import type { OrgCommandDeps } from "../billing/orgCommand.ts";
import { exitCodeOf, exitCodes, UsageError } from "../runtime/commandError.ts";
import type { DatabaseCommand } from "./commands/command.ts";
import { databaseCommands, databaseUsage } from "./databaseCommands.ts";
import { fitCollectorToCores } from "./garbageCollector.ts";
import { type Config, ConfigError, loadConfig } from "../config/config.ts";
import { readSecretLine } from "./commands/readSecretLine.ts";
import type { Opener } from "./database/openOrJoin.ts";
import { createLog } from "../telemetry/log.ts";
import { version } from "../config/version.ts";

// Defined here and not in the modules of the commands, which a start of the service does not load.
const serveUsage =
  "  postrider serve [--roles api,dispatcher,maintenance]   runs the service (settings: docs/configuration.md)\n";
const orgUsage = `  postrider org create <name> [--exempt | --state <state>] [--email <address>]
  postrider org list [--state <state>]
  postrider org show <id or slug>
  postrider org set-state <id or slug> <state> [--reason <text>]
  postrider org settle-batch <identifier> exported|resend
      states: pending, active, grace, suspended, exempt; results are JSON, with --json one document a line
`;
const resetPasswordUsage = `  postrider reset-password <email>                       sets a user's password, read from standard input
`;
const mcpUsage = `  postrider mcp [--server URL] [--profile NAME]           serves tools to an agent (MCP), over standard input and output
                                                          (POSTRIDER_URL, POSTRIDER_KEY, or a profile; docs/mcp.md)
`;

const usage = `postrider ${version}: event intake and delivery

${serveUsage}${orgUsage}${resetPasswordUsage}${databaseUsage}${mcpUsage}  postrider help                                          shows this text
  postrider version
`;

/** One command: its lines of the usage text, the title above them in its help, and the function that runs it. */
interface Command {
  /** The usage text of all commands unless given. */
  usage?: string;
  title?: string;
  run: (args: string[]) => void | Promise<void>;
}

/**
 * The commands by name. Each imports its own modules when it runs: loading the service takes half a second of processor time,
 * which `postrider help` does not need.
 */
const commands = new Map<string, Command>([
  ["serve", { usage: serveUsage, title: "the service", run: runServe }],
  ["org", { usage: orgUsage, title: "organizations", run: administer }],
  ["reset-password", { usage: resetPasswordUsage, title: "a user's password", run: resetUsersPassword }],
  ...Object.entries(databaseCommands).map(([name, read]): [string, Command] => [
    name,
    { usage: databaseUsage, title: "the whole database", run: async (args) => onDatabase(read(args)) },
  ]),
  [
    "mcp",
    {
      usage: mcpUsage,
      title: "tools for agents",
      run: async () => (await import("../mcp/serveStdio.ts")).serveStdio(process),
    },
  ],
  ...["version", "--version"].map((name): [string, Command] => [name, { run: () => print(`${version}\n`) }]),
  ...["help", "--help", "-h"].map((name): [string, Command] => [name, { run: () => print(usage) }]),
]);

function print(text: string): void {
  process.stdout.write(text);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Runs the command line; the exit code is 0 on success, 1 on failure, 2 for a wrong command. */
async function run(args: string[]): Promise<number> {
  const [first = "serve", ...others] = args;
  const [name, rest] =
    first === "help" && others[0] !== undefined ? [others[0], ["--help"]] : [first, others];
  if (rest.some((word) => word === "--help" || word === "-h")) {
    print(helpOf(name));
    return 0;
  }
  const command = commands.get(name);
  if (command === undefined) {
    process.stderr.write(`postrider: there is no command "${name}"\n\n${usage}`);
    return 2;
  }
  await command.run(rest);
  return 0;
}

function helpOf(name: string): string {
  const { title, usage: own } = commands.get(name) ?? {};
  return title === undefined ? usage : `postrider ${name}: ${title}\n\n${own}`;
}

async function runServe(args: string[]): Promise<void> {
  fitCollectorToCores();
  const config = readConfig(args);
  const { serve } = await (config.processes > 1 ? import("./supervise.ts") : import("./main.ts"));
  const isRunByNpm = process.env["npm_lifecycle_event"] === "start";
  await serve(config, say, isRunByNpm);
}

async function onDatabase({ isJson, run }: DatabaseCommand): Promise<void> {
  await run(process.env, {
    say,
    show: (result) => print(isJson ? `${JSON.stringify(result)}\n` : resultText(result)),
  });
}

/**
 * Keeps commands running when their output cannot be written. A command whose result is lost, as on a full disk, reports it and
 * ends with a failure code. A closed pipe is no failure: its reader may have seen enough, as in `postrider org list | head`.
 */
function outliveOutput(): void {
  process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    if (code === "EPIPE" || process.exitCode === exitCodes.failed) return;
    say(`postrider: cannot write the output: ${message}`);
    process.exitCode = exitCodes.failed;
  });
  process.stderr.on("error", () => undefined);
}

async function administer(args: string[]): Promise<void> {
  const { readOrgCommand } = await import("../billing/orgCommand.ts");
  // Checks the arguments before a database is opened or started.
  const command = readOrgCommand(args);
  await withDatabase({ command: "postrider org", mayMake: args[0] === "create" }, command);
}

async function resetUsersPassword(args: string[]): Promise<void> {
  const { readResetPasswordCommand } = await import("../accounts/resetPasswordCommand.ts");
  const command = readResetPasswordCommand(args);
  const prompt = (text: string): void => void process.stderr.write(text);
  const password = await readSecretLine(process.stdin, prompt);
  await withDatabase({ command: "postrider reset-password" }, (deps) => command({ ...deps, password }));
}

/** Runs a command of an operator on the database of the service. */
async function withDatabase(
  opener: Pick<Opener, "command" | "mayMake">,
  command: (deps: OrgCommandDeps) => Promise<void>,
): Promise<void> {
  const config = loadConfig(process.env);
  const [{ openForCommand }, { createPasswords }] = await Promise.all([
    import("./database/openDatabase.ts"),
    import("../accounts/passwords.ts"),
  ]);
  const database = await openForCommand(config, createLog("error"), { ...opener, say });
  try {
    await command({
      pool: database.pool,
      cells: database.cells,
      passwords: createPasswords(),
      nowMs: Date.now,
      operator: userInfo().username,
      print: (text) => print(`${text}\n`),
      audit: say,
    });
  } finally {
    await database.close();
  }
}

function readConfig(args: string[]): Config {
  const roles = readRoles(args);
  return loadConfig({ ...process.env, ...(roles !== undefined && { POSTRIDER_ROLES: roles }) });
}

function readRoles(args: string[]): string | undefined {
  let roles: string | undefined;
  try {
    ({ roles } = parseArgs({ args, options: { roles: { type: "string" } } }).values);
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause });
  }
  // An empty value, as from an unset shell variable, would count as all roles.
  if (roles?.trim() === "") throw new UsageError("--roles names no role");
  return roles;
}

outliveOutput();
try {
  const exitCode = await run(process.argv.slice(2));
  process.exitCode ||= exitCode;
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  const isExpected = error instanceof ConfigError;
  say(`postrider: ${message}`);
  if (!isExpected && process.env["LOG_LEVEL"] === "debug") say(`${(error as Error).stack}`);
  if (error instanceof UsageError)
    process.stderr.write(`\n${commands.get(process.argv[2] ?? "serve")?.usage ?? usage}`);
  process.exitCode = exitCodeOf(error);
}

/** A command's result for people: a line for each field, and for a list a table with its fields as columns. */
function resultText(result: object): string {
  return Object.entries(result)
    .map(([field, value]) => {
      if (Array.isArray(value)) return tableText(value);
      return `${field}  ${field === "created_at" ? new Date(value * 1000).toISOString() : value}\n`;
    })
    .join("");
}

function tableText(rows: readonly object[]): string {
  const lines = [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row).map(String))];
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const text = (line: readonly string[]): string =>
    line
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd();
  return lines.map((line) => `${text(line)}\n`).join("");
}
