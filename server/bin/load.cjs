"use strict";

const { readFileSync, statSync } = require("node:fs");
const { enableCompileCache } = require("node:module");
const { join } = require("node:path");

/** The service's own commands; all other commands are clients, which use only a service's interface. */
const ofTheService = ["serve", "org", "reset-password", "backup", "restore", "reset", "move", "db", "mcp"];

/** Runs the command. Not in postrider.cjs, because an old Node cannot parse dynamic imports. */
exports.load = function load() {
  // Halves the processor time of a start. The cache is in the code's folder, where only users who may change the code can write;
  // without write permission there is no cache. Processes of the service inherit the variable.
  // oxlint-disable-next-line node/no-process-env -- Node's own variable, no setting of the service
  process.env.NODE_COMPILE_CACHE ??= join(__dirname, "../.compile-cache");
  enableCompileCache();
  const [first = "serve", ...others] = process.argv.slice(2);
  if (first === "mcp" && !others.some((word) => word === "--help" || word === "-h"))
    return serveAgent(others);
  const isOfTheService = ofTheService.includes(first === "help" ? others[0] : first);
  return isOfTheService ? loadService() : import("../../cli/src/run.ts");
};

/** The folder into which `server/scripts/bundleService.ts` writes the bundle. */
const bundle = "../dist/service";

/** Runs the bundle if no source has changed since it was built; otherwise runs the sources. */
function loadService() {
  return isUpToDate() ? import(`${bundle}/cli.js`) : import("../src/process/cli.ts");
}

/** @typedef {[path: string, size: number, mtimeMs: number]} Input */

function isUpToDate() {
  try {
    /** @type {Input[]} */
    const inputs = JSON.parse(readFileSync(join(__dirname, bundle, "inputs.json"), "utf8"));
    return inputs.every(isUnchanged);
  } catch {
    return false;
  }
}

/** @param {Input} input */
function isUnchanged([path, size, mtimeMs]) {
  const found = statSync(join(__dirname, "../..", path));
  return found.size === size && found.mtimeMs === mtimeMs;
}

/**
 * Serves MCP tools to an agent. The tools call a service, which may run on another machine, with a client's API key.
 * @param {readonly string[]} args
 */
async function serveAgent(args) {
  const { provideConnection } = await import("../../cli/src/profile/provideConnection.ts");
  if (await provideConnection(args, process)) await loadService();
}
