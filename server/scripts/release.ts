/**
 * Gives what is unreleased to a version: in the changelog, and in the manifests of all packages and the lockfile.
 * Usage: node server/scripts/release.ts <version>
 *        node server/scripts/release.ts notes <version>     prints the version's notes
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { notesOf, releasedAs } from "./changelog.ts";

const root = join(import.meta.dirname, "../..");
const changelogPath = join(root, "CHANGELOG.md");
const changelog = await readFile(changelogPath, "utf8");
const [first = "", second = ""] = process.argv.slice(2);

if (first === "notes") console.log(notesOf(changelog, second.replace(/^v/, "")));
else await release(first);

async function release(version: string): Promise<void> {
  const released = releasedAs(changelog, version, new Date().toISOString().slice(0, 10));
  for (const name of ["server", "cli", "sdk"])
    await setVersion(join(root, name, "package.json"), version, []);
  await setVersion(join(root, "package-lock.json"), version, ["server", "cli", "sdk"]);
  await writeFile(changelogPath, released);
  console.log(`${version}: commit it, tag it v${version}, and push both`);
}

/** Of a manifest, or of these workspaces in a lockfile. */
async function setVersion(path: string, version: string, workspaces: readonly string[]): Promise<void> {
  const file = JSON.parse(await readFile(path, "utf8")) as {
    version?: string;
    packages?: Record<string, { version?: string }>;
  };
  if (workspaces.length === 0) file.version = version;
  for (const name of workspaces) file.packages![name]!.version = version;
  await writeFile(path, `${JSON.stringify(file, undefined, 2)}\n`);
}
