import { execFile } from "node:child_process";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const dashboard = join(import.meta.dirname, "../..");

/** Builds the page unless the existing build is newer than every source, so that tests run the current code. */
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
  // Built in another folder and then renamed, because other test files may build or use the page at the same time.
  const made = join(dashboard, "../node_modules/.cache", `dashboard-${process.pid}`);
  const args = [vite, "build", "--logLevel", "error", "--outDir", made, "--emptyOutDir"];
  await promisify(execFile)(process.execPath, args, { cwd: dashboard });
  const dist = join(dashboard, "dist");
  const replaced = `${made}-replaced`;
  await renameUnless(["ENOENT"], dist, replaced);
  // Another test file may have been faster.
  await renameUnless(["ENOTEMPTY", "EEXIST"], made, dist);
  for (const left of [made, replaced]) await rm(left, { recursive: true, force: true });
}

/** Renames a folder; ignores errors with these codes. */
async function renameUnless(codes: readonly string[], from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!codes.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

async function changedAtMs(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch {
    return 0;
  }
}
