#!/usr/bin/env node
import { userInfo } from "node:os";
import { parseArgs } from "node:util";
import { createPasswords } from "../accounts/passwords.ts";
import { OrgUsageError, orgUsage, runOrgCommand } from "../billing/orgCommand.ts";
import { fitCollectorToCores } from "./garbageCollector.ts";
import { type Config, ConfigError, loadConfig } from "../config/config.ts";
import { openForCommand } from "./database.ts";
import { serve } from "./main.ts";
import { createLog } from "../telemetry/log.ts";
import { version } from "../config/version.ts";

const usage = `postrider ${version}: event intake and delivery

  postrider serve [--roles api,dispatcher,maintenance]   runs the service (settings: docs/configuration.md)
${orgUsage}
  postrider help                                          shows this text
  postrider version
`;

/** Runs the command line; the exit code is 0 on success, 1 on failure, 2 for a wrong command. */
async function run(args: string[]): Promise<number> {
  const [command = "serve", ...rest] = args;
  switch (command) {
    case "serve":
      fitCollectorToCores();
      await serve(readConfig(rest), (line) => process.stderr.write(`${line}\n`));
      return 0;
    case "org":
      await administer(rest);
      return 0;
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
  const config = loadConfig(process.env);
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const database = await openForCommand(config, createLog("error"), say);
  try {
    await runOrgCommand(args, {
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
  const { values } = parseArgs({ args, options: { roles: { type: "string" } } });
  return loadConfig({ ...process.env, ...(values.roles !== undefined && { POSTRIDER_ROLES: values.roles }) });
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
  process.exitCode = error instanceof OrgUsageError ? 2 : 1;
}
