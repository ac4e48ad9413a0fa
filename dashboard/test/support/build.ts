import { execFile } from "node:child_process";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const dashboard = join(import.meta.dirname, "../..");

/** Builds the page unless the build there is newer than every source, so that what is tested is what is written. */
export async function buildIfStale(): Promise<void> {
  const built = await changedAtMs(join(dashboard, "dist/index.html"));
  const names = await readdir(join(dashboard, "src"), { recursive: true });
  const sources = [
    ...names.map((name) => join("src", name)),
    "index.html",
    "vite.config.ts",
    "public/theme.js",
  ];
  const changed = await Promise.all(sources.map((name) => changedAtMs(join(dashboard, name))));
  if (built > Math.max(...changed)) return;
  const vite = join(dashboard, "../node_modules/vite/bin/vite.js");
  await promisify(execFile)(process.execPath, [vite, "build", "--logLevel", "error"], { cwd: dashboard });
}

async function changedAtMs(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch {
    return 0;
  }
}
