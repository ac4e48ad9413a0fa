/**
 * Bundles the service into `server/dist/service`. `server/bin/load.cjs` starts this bundle as long as no source has changed:
 * `inputs.json` has the size and modification time of each bundled file. Part of `npm ci`; `npm run bundle` repeats it.
 * Also empties the compile cache, where Node would keep the code of every earlier bundle.
 */
import { rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundlePrograms, root, serviceEntries, unbundledPackages } from "./bundlePrograms.ts";

const folder = join(root, "server/dist/service");

for (const old of [folder, join(root, "server/.compile-cache")])
  await rm(old, { recursive: true, force: true });
const files = await bundlePrograms({ entries: serviceEntries, external: unbundledPackages, folder });
const inputs = await Promise.all(
  [...files, "package-lock.json"].map(async (path) => {
    const { size, mtimeMs } = await stat(join(root, path));
    return [path, size, mtimeMs];
  }),
);
await writeFile(join(folder, "inputs.json"), JSON.stringify(inputs));
