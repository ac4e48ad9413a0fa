"use strict";

/** The oldest Node that runs it; a published package holds JavaScript, and runs on 20. */
exports.needed = 24;

/** Runs the command. Apart from postrider.cjs, because an old Node does not know dynamic imports. */
exports.load = function load() {
  return import("../src/run.ts");
};
