"use strict";

const { readFileSync, statSync } = require("node:fs");
const { enableCompileCache } = require("node:module");
const { join } = require("node:path");

/** The commands of the service itself; all others talk to a service, over its interface alone. */
const ofTheService = ["serve", "org", "reset-password", "backup", "restore", "reset", "move", "db", "mcp"];

/** Runs the command. Apart from postrider.cjs, because an old Node does not know dynamic imports. */
exports.load = function load() {
  // Halves the processor time of a start. The cache is beside the code, because whoever can write there can change the code as well;
  // where this user cannot, there is none. Processes of the service inherit the variable.
  // oxlint-disable-next-line node/no-process-env -- Node's own variable, no setting of the service
  process.env.NODE_COMPILE_CACHE ??= join(__dirname, "../.compile-cache");
  enableCompileCache();
  const [first = "serve", ...others] = process.argv.slice(2);
  if (first === "mcp" && !others.some((word) => word === "--help" || word === "-h"))
    return serveAgent(others);
  const isOfTheService = ofTheService.includes(first === "help" ? others[0] : first);
  return isOfTheService ? loadService() : import("../../cli/src/run.ts");
};

/** Where `server/scripts/bundleService.ts` writes the bundle. */
const bundle = "../dist/service";

/** Runs the bundle while no source differs from what went into it, else the sources. */
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
 * An agent's tools talk to a service that may be anywhere, with the credential of a client.
 * @param {readonly string[]} args
 */
async function serveAgent(args) {
  const { provideConnection } = await import("../../cli/src/profile/provideConnection.ts");
  if (await provideConnection(args, process)) await loadService();
}
