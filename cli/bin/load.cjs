"use strict";

/** The oldest major version of Node that runs these sources. Packages contain JavaScript and run on 20: see `packages.ts`. */
exports.needed = 24;

/** Runs the command. Not in postrider.cjs, because an old Node cannot parse dynamic imports. */
exports.load = function load() {
  return import("../src/run.ts");
};
