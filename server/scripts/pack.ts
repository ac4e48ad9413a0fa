/**
 * Packs the service as it is published: compiled JavaScript, because Node does not strip types below `node_modules`.
 * Usage: node server/scripts/pack.ts [directory for the tarball, default server/dist]
 * Prints the tarball's path.
 */
import { execFile } from "node:child_process";
import { copyFile, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const server = join(import.meta.dirname, "..");
const root = join(server, "..");
const staging = join(server, "dist/package");
const destination = resolve(process.argv[2] ?? join(server, "dist"));

await rm(staging, { recursive: true, force: true });
await mkdir(staging, { recursive: true });
await mkdir(destination, { recursive: true });

const compiler = join(root, "node_modules/typescript/bin/tsc");
await run(process.execPath, [compiler, "-p", join(server, "tsconfig.build.json"), "--outDir", staging]);
// SQL and whatever else the code reads beside itself.
await cp(join(server, "src"), join(staging, "src"), {
  recursive: true,
  filter: (source) => !source.endsWith(".ts"),
});
await cp(join(root, "dashboard/dist"), join(staging, "dashboard"), { recursive: true });
await mkdir(join(staging, "bin"));
await copyFile(join(server, "bin/postrider.cjs"), join(staging, "bin/postrider.cjs"));
const load = await readFile(join(server, "bin/load.cjs"), "utf8");
await writeFile(join(staging, "bin/load.cjs"), load.replace("cli.ts", "cli.js"));
for (const name of ["LICENSE", "README.md", "CHANGELOG.md"])
  await copyFile(join(root, name), join(staging, name));
await writeFile(join(staging, "package.json"), await manifest());

const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", destination], { cwd: staging });
const [packed] = JSON.parse(stdout) as [{ filename: string }];
console.log(join(destination, basename(packed.filename)));

/** The workspace's manifest, pointing at the compiled files and without what only development needs. */
async function manifest(): Promise<string> {
  const { name, version, license, type, dependencies } = JSON.parse(
    await readFile(join(server, "package.json"), "utf8"),
  ) as Record<string, unknown>;
  return `${JSON.stringify(
    {
      name,
      version,
      license,
      type,
      bin: { postrider: "./bin/postrider.cjs" },
      engines: { node: ">=24" },
      dependencies,
    },
    undefined,
    2,
  )}\n`;
}
