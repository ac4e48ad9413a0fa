#!/usr/bin/env node
/*
 * The command's first file, in syntax that every Node of the last ten years can parse: on a Node that is too old, it prints a
 * sentence that says so.
 */
"use strict";

const { needed, load } = require("./load.cjs");

if (parseInt(process.versions.node, 10) < needed) {
  process.stderr.write(
    "postrider: this is Node " +
      process.versions.node +
      ", and the command needs Node " +
      needed +
      " or newer. Install it from https://nodejs.org, or run: npx --yes node@26 " +
      __filename +
      "\n",
  );
  process.exitCode = 1;
} else {
  void load();
}
