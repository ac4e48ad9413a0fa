/**
 * Bundles the service into `server/dist/service`, from where `server/bin/load.cjs` starts it while the bundle is as new as the
 * sources: `inputs.json` has the size and the time of each file that went in. Part of `npm ci`; `npm run bundle` does it again.
 */
import { rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundlePrograms, root, serviceEntries, unbundledPackages } from "./bundlePrograms.ts";

const folder = join(root, "server/dist/service");

await rm(folder, { recursive: true, force: true });
const files = await bundlePrograms({ entries: serviceEntries, external: unbundledPackages, folder });
const inputs = await Promise.all(
  [...files, "package-lock.json"].map(async (path) => {
    const { size, mtimeMs } = await stat(join(root, path));
    return [path, size, mtimeMs];
  }),
);
await writeFile(join(folder, "inputs.json"), JSON.stringify(inputs));
