#!/usr/bin/env node
/*
 * The command's first file, in words that every Node of the last ten years understands: an older one than it needs is
 * told so in a sentence.
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
