"use strict";

/** Runs the command. Apart from postrider.cjs, because an old Node does not know dynamic imports. */
exports.load = function load() {
  return import("../src/process/cli.ts");
};
