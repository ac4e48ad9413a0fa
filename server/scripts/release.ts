/**
 * Makes a release: turns the unreleased notes of the changelog into those of a version, and sets the version in the manifests of
 * all packages and in the lockfile.
 * Usage: node server/scripts/release.ts <version>
 *        node server/scripts/release.ts notes <version>     prints the version's notes
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { notesOf, releasedAs } from "./changelog.ts";

const root = join(import.meta.dirname, "../..");
const workspaces = ["server", "cli", "sdk", "dashboard", "bench", "faults"];
const changelogPath = join(root, "CHANGELOG.md");
const changelog = await readFile(changelogPath, "utf8");
const [first = "", second = ""] = process.argv.slice(2);

if (first === "notes") console.log(notesOf(changelog, second.replace(/^v/, "")));
else await release(first);

async function release(version: string): Promise<void> {
  const released = releasedAs(changelog, version, new Date().toISOString().slice(0, 10));
  for (const name of workspaces) await setVersion(join(root, name, "package.json"), version, []);
  await setVersion(join(root, "package-lock.json"), version, workspaces);
  await writeFile(changelogPath, released);
  console.log(`${version}: commit it, tag it v${version}, and push both`);
}

/** Sets the version in a manifest, or that of the named workspaces in a lockfile. */
async function setVersion(path: string, version: string, names: readonly string[]): Promise<void> {
  const file = JSON.parse(await readFile(path, "utf8")) as {
    version?: string;
    packages?: Record<string, { version?: string }>;
  };
  if (names.length === 0) file.version = version;
  for (const name of names) file.packages![name]!.version = version;
  await writeFile(path, `${JSON.stringify(file, undefined, 2)}\n`);
}
