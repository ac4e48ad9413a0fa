import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

/* `npm ci` bundles the service; a start must never run a bundle that differs from the sources beside it. */

const run = promisify(execFile);
const source = "server/src/process/cli.ts";
const lock = "package-lock.json";

it("runs the bundle when no source has changed since", async ({ onTestFinished }) => {
  const root = await newClone(onTestFinished);
  await writeBundle(root, [source, lock]);
  expect(await start(root)).toBe("bundle");
});

it("runs the sources when a source was changed or removed, or the packages changed", async ({
  onTestFinished,
}) => {
  const root = await newClone(onTestFinished);
  await writeBundle(root, [source, lock]);
  await writeFile(join(root, lock), "{ }");
  expect(await start(root)).toBe("source");
  await writeBundle(root, [source, lock]);
  await writeFile(join(root, source), `console.log("a changed source")`);
  expect(await start(root)).toBe("a changed source");
  await writeBundle(root, [source, lock]);
  await rm(join(root, lock));
  expect(await start(root)).toBe("a changed source");
});

it("runs the sources when there is no bundle", async ({ onTestFinished }) => {
  expect(await start(await newClone(onTestFinished))).toBe("source");
});

/** Creates a folder like a clone of the repository, whose service prints the file it was started from. */
async function newClone(onTestFinished: (end: () => Promise<void>) => void): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "postrider-start-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await cp(join(import.meta.dirname, "../bin"), join(root, "server/bin"), { recursive: true });
  await mkdir(join(root, "server/src/process"), { recursive: true });
  await writeFile(join(root, source), `console.log("source")`);
  await writeFile(join(root, lock), "{}");
  await writeFile(join(root, "package.json"), '{ "type": "module" }');
  return root;
}

async function writeBundle(root: string, paths: string[]): Promise<void> {
  const folder = join(root, "server/dist/service");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "cli.js"), `console.log("bundle")`);
  const inputs = await Promise.all(
    paths.map(async (path) => {
      const { size, mtimeMs } = await stat(join(root, path));
      return [path, size, mtimeMs];
    }),
  );
  await writeFile(join(folder, "inputs.json"), JSON.stringify(inputs));
}

async function start(root: string): Promise<string> {
  const { stdout } = await run(process.execPath, [join(root, "server/bin/postrider.cjs"), "serve"]);
  return stdout.trim();
}
