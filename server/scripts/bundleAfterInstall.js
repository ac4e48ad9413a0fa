/*
 * Bundles the service as part of `npm ci`, so that it starts in less than half the time. Written in JavaScript, because npm may
 * run on an older Node than the service. Without the build tools or a new enough Node, the service runs from its sources.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const pinned = join(root, "node_modules/node/bin/node");
const node = existsSync(pinned) ? pinned : process.execPath;

// The build tools are development dependencies, which --omit=dev does not install.
if (existsSync(join(root, "node_modules/rolldown"))) {
  const bundled = spawnSync(node, [join(import.meta.dirname, "bundleService.ts")], { stdio: "inherit" });
  if (bundled.status !== 0)
    process.stderr.write("The service was not bundled: it starts from its sources.\n");
}
