#!/usr/bin/env node
/*
 * The command's first file, in syntax that every Node of the last ten years can parse: on a Node that is too old, it prints a
 * sentence that says so, before Node would fail on newer syntax.
 */
"use strict";

const needed = 24;
const found = process.versions.node;

if (parseInt(found, 10) < needed) {
  process.stderr.write(
    "postrider: this is Node " +
      found +
      ", and Postrider needs Node " +
      needed +
      " or newer. In a clone of the repository, npm ci brings the right one for npm start, unless it is told to" +
      " --ignore-scripts. Elsewhere install it from https://nodejs.org, or run: npx --yes node@26 " +
      [__filename].concat(process.argv.slice(2)).join(" ") +
      "\n",
  );
  process.exitCode = 1;
} else {
  const { load } = require("./load.cjs");
  void load();
}
