import { execFile, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { startProgram } from "./support/program.ts";

const root = join(import.meta.dirname, "../..");
const tree = mkdtempSync(join(tmpdir(), "postrider-production-"));
const hasNpm = spawnSync("npm", ["--version"]).status === 0;

afterAll(() => rmSync(tree, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

describe.runIf(hasNpm && process.platform !== "win32")("a clone with `npm ci --omit=dev`", () => {
  it("serves with npm start, whichever Node npm itself runs on", async () => {
    await layOut();
    const npm = startProgram({
      command: ["npm", "start"],
      cwd: tree,
      env: { POSTRIDER_DATA_DIR: join(tree, "data") },
    });
    await npm.says(/listens on/);
    npm.kill("SIGTERM");
    expect((await npm.ended).signal ?? "SIGTERM").toBe("SIGTERM");
    // The mail library is loaded with the first mail, not at the start.
    const load = ["--input-type=module", "--eval", 'await import("nodemailer")'];
    await promisify(execFile)(process.execPath, load, { cwd: join(tree, "server") });
  }, 180_000);
});

/**
 * Creates a copy of the repository with links to the packages that `npm ci --omit=dev` would install, and to no
 * others.
 */
async function layOut(): Promise<void> {
  const { stdout } = await promisify(execFile)("npm", ["ls", "--omit=dev", "--all", "--parseable"], {
    cwd: root,
    maxBuffer: 2 ** 24,
  });
  const installed = stdout
    .split("\n")
    .map((path) => relative(root, path))
    .filter((path) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path));
  for (const path of installed) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    symlinkSync(join(root, path), join(tree, path));
  }
  const node = join(tree, "node_modules/node/bin/node");
  mkdirSync(join(tree, "node_modules/.bin"));
  if (existsSync(node)) symlinkSync(node, join(tree, "node_modules/.bin/node"));
  for (const part of ["package.json", "server/package.json", "server/bin", "server/src"]) {
    cpSync(join(root, part), join(tree, part), { recursive: true });
  }
}
