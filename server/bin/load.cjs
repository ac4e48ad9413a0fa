"use strict";

/** The commands of the service itself; all others talk to a service, over its interface alone. */
const ofTheService = ["serve", "org", "reset-password", "backup", "restore", "reset", "move", "mcp"];

/** Runs the command. Apart from postrider.cjs, because an old Node does not know dynamic imports. */
exports.load = function load() {
  const [first = "serve", second] = process.argv.slice(2);
  const isOfTheService = ofTheService.includes(first === "help" ? second : first);
  return isOfTheService ? import("../src/process/cli.ts") : import("../../cli/src/run.ts");
};
