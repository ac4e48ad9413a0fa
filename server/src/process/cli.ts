#!/usr/bin/env node
import { userInfo } from "node:os";
import { parseArgs } from "node:util";
import { createPasswords } from "../accounts/passwords.ts";
import { OrgUsageError, orgUsage, readOrgCommand } from "../billing/orgCommand.ts";
import { fitCollectorToCores } from "./garbageCollector.ts";
import { type Config, ConfigError, loadConfig } from "../config/config.ts";
import { openForCommand } from "./database.ts";
import { serve } from "./main.ts";
import { createLog } from "../telemetry/log.ts";
import { version } from "../config/version.ts";

const usage = `postrider ${version}: event intake and delivery

  postrider serve [--roles api,dispatcher,maintenance]   runs the service (settings: docs/configuration.md)
${orgUsage}
  postrider mcp                                           gives an agent tools, over its standard input and output
                                                          (POSTRIDER_URL, POSTRIDER_KEY; docs/mcp.md)
  postrider help                                          shows this text
  postrider version
`;

/** The words make no command; the message says which. */
class UsageError extends Error {}

/** Runs the command line; the exit code is 0 on success, 1 on failure, 2 for a wrong command. */
async function run(args: string[]): Promise<number> {
  const [command = "serve", ...rest] = args;
  if (rest.some((word) => word === "--help" || word === "-h")) {
    process.stdout.write(command === "org" ? `postrider org: organizations\n\n${orgUsage}` : usage);
    return 0;
  }
  switch (command) {
    case "serve":
      fitCollectorToCores();
      await serve(
        readConfig(rest),
        (line) => process.stderr.write(`${line}\n`),
        process.env["npm_lifecycle_event"] === "start",
      );
      return 0;
    case "org":
      await administer(rest);
      return 0;
    case "mcp": {
      const { runMcpCommand } = await import("./mcpCommand.ts");
      await runMcpCommand(process);
      return 0;
    }
    case "version":
    case "--version":
      process.stdout.write(`${version}\n`);
      return 0;
    case "help":
    case "--help":
    case "-h":
      process.stdout.write(usage);
      return 0;
    default:
      process.stderr.write(`postrider: there is no command "${command}"\n\n${usage}`);
      return 2;
  }
}

async function administer(args: string[]): Promise<void> {
  // Read before a database is opened, or even started.
  const command = readOrgCommand(args);
  const config = loadConfig(process.env);
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const database = await openForCommand(config, createLog("error"), say);
  try {
    await command({
      pool: database.pool,
      passwords: createPasswords(),
      nowMs: Date.now,
      operator: userInfo().username,
      print: (text) => process.stdout.write(`${text}\n`),
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
  try {
    return parseArgs({ args, options: { roles: { type: "string" } } }).values.roles;
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause });
  }
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  const isExpected = error instanceof ConfigError;
  process.stderr.write(`postrider: ${message}\n`);
  if (!isExpected && process.env["LOG_LEVEL"] === "debug")
    process.stderr.write(`${(error as Error).stack}\n`);
  if (error instanceof OrgUsageError) process.stderr.write(`\n${orgUsage}`);
  if (error instanceof UsageError) process.stderr.write(`\n${usage}`);
  process.exitCode = error instanceof OrgUsageError || error instanceof UsageError ? 2 : 1;
}
