import { execFile } from "node:child_process";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");

/**
 * Unpacks a packed service in the folder `tree` where `npm install --global` would: its dependencies are in its own folder. They are
 * links to the declared ones only, so that an undeclared one is missing. Needs no registry. Resolves to the path of its command.
 */
export async function installPackage(tarball: string, tree: string): Promise<string> {
  const installed = join(tree, "node_modules/postrider");
  await mkdir(installed, { recursive: true });
  await run("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"]);
  const manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as {
    bin: { postrider: string };
    dependencies: Record<string, string>;
  };
  for (const name of Object.keys(manifest.dependencies)) {
    const link = join(installed, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(root, "node_modules", name), link);
  }
  return join(installed, manifest.bin.postrider);
}
