/*
 * Builds the page as part of `npm ci`, so that `npm start` serves it without another step. Written in JavaScript, because it
 * also runs where the pinned Node is not installed.
 */
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const dashboard = join(import.meta.dirname, "..");
const vite = findVite();

if (vite === undefined) {
  process.stderr.write(
    "The dashboard was not built: its build tools are development dependencies, which --omit=dev leaves out. " +
      "The service serves its interface alone; run npm ci without --omit=dev to have the page, too.\n",
  );
} else {
  const built = spawnSync(process.execPath, [vite, "build", "--logLevel", "warn"], {
    cwd: dashboard,
    stdio: "inherit",
  });
  process.exitCode = built.status ?? 1;
}

function findVite() {
  try {
    const manifest = createRequire(import.meta.url).resolve("vite/package.json");
    return join(dirname(manifest), "bin/vite.js");
  } catch {
    return undefined;
  }
}
