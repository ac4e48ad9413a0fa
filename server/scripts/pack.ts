/**
 * Packs the published packages, as bundled or compiled JavaScript, because Node does not strip types below `node_modules`:
 * `postrider` (service, dashboard and command), `@postrider/cli` (the client command) and `@postrider/sdk`.
 * Usage: node server/scripts/pack.ts [directory for the tarballs, default server/dist] [service] [cli] [sdk]
 * Prints the paths of the tarballs, one per line.
 */
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type PackageName, packages, packOne } from "./packages.ts";

const [directory, ...asked] = process.argv.slice(2);
const destination = resolve(directory ?? join(import.meta.dirname, "../dist"));
const names = asked.length > 0 ? asked : Object.keys(packages);

await mkdir(destination, { recursive: true });
for (const name of names) {
  if (!Object.hasOwn(packages, name)) throw new Error(`there is no package "${name}"`);
  console.log(await packOne(name as PackageName, destination));
}
