import { execFile } from "node:child_process";
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { bundlePrograms, root, serviceEntries, unbundledPackages } from "./bundlePrograms.ts";

const run = promisify(execFile);

type Manifest = Record<string, unknown>;

/** The published packages, by their names in `pack.ts`: each function lays out the package's files in a folder. */
export const packages = { service: layOutService, cli: layOutClient, sdk: layOutSdk } as const;
export type PackageName = keyof typeof packages;

/** Packs one of them. @returns the tarball's path. */
export async function packOne(name: PackageName, destination: string): Promise<string> {
  const staging = await mkdtemp(join(tmpdir(), "postrider-pack-"));
  try {
    const manifest = await packages[name](staging);
    await writeJson(join(staging, "package.json"), { ...manifest, ...publishedFrom(process.env) });
    await copyFile(join(root, "LICENSE"), join(staging, "LICENSE"));
    const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", destination], {
      cwd: staging,
    });
    // One entry for each package: in an array, or by name in newer versions.
    const [packed] = Object.values(JSON.parse(stdout) as Record<string, { filename: string }>);
    return join(destination, basename(packed!.filename));
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/**
 * npm takes a package with provenance only if it names the repository whose workflow builds it; which one that is, the
 * workflow alone knows. Packed elsewhere, a package names none.
 */
export function publishedFrom({
  GITHUB_SERVER_URL: server = "https://github.com",
  GITHUB_REPOSITORY: name = "",
}: NodeJS.ProcessEnv): Manifest {
  if (name === "") return { publishConfig: { access: "public" } };
  return {
    repository: { type: "git", url: `git+${server}/${name}.git` },
    publishConfig: { access: "public", provenance: true },
  };
}

async function layOutService(staging: string): Promise<Manifest> {
  const folder = join(root, "server/dist/packed");
  await rm(folder, { recursive: true, force: true });
  await bundlePrograms({ entries: serviceEntries, external: unbundledPackages, folder });
  // A package is never older than its sources, so there is no input to compare.
  await writeFile(join(folder, "inputs.json"), "[]");
  await cp(folder, join(staging, "dist/service"), { recursive: true });
  // SQL and whatever else the bundles read beside the sources.
  await cp(join(root, "server/src"), join(staging, "src"), {
    recursive: true,
    filter: (source) => !source.endsWith(".ts"),
  });
  await cp(join(root, "dashboard/dist"), join(staging, "dashboard"), { recursive: true });
  await layOutCommand(staging);
  await layOutBin(staging, "server/bin", (text) =>
    text.replaceAll("../../cli/", "../cli/").replaceAll('.ts")', '.js")'),
  );
  for (const name of ["README.md", "CHANGELOG.md"]) await copyFile(join(root, name), join(staging, name));
  const { version, license, dependencies } = await readJson(join(root, "server/package.json"));
  return {
    name: "postrider",
    version,
    description:
      "Event intake and delivery: webhooks, mailboxes and agents, with a PostgreSQL of its own or yours",
    license,
    type: "module",
    bin: { postrider: "bin/postrider.cjs" },
    engines: { node: ">=24" },
    dependencies,
  };
}

/** The command and what loads it, which then leads to what was compiled. */
async function layOutBin(staging: string, from: string, compiled: (text: string) => string): Promise<void> {
  await mkdir(join(staging, "bin"));
  await copyFile(join(root, from, "postrider.cjs"), join(staging, "bin/postrider.cjs"));
  const load = await readFile(join(root, from, "load.cjs"), "utf8");
  await writeFile(join(staging, "bin/load.cjs"), compiled(load));
}

async function layOutClient(staging: string): Promise<Manifest> {
  await layOutCommand(staging);
  await layOutBin(staging, "cli/bin", (text) =>
    text.replace("../src/run.ts", "../cli/src/run.js").replace("needed = 24", "needed = 20"),
  );
  await copyFile(join(root, "docs/command-line.md"), join(staging, "README.md"));
  const { name, version, description, license, type, engines } = await readJson(
    join(root, "cli/package.json"),
  );
  return { name, version, description, license, type, bin: { postrider: "bin/postrider.cjs" }, engines };
}

/** The client's commands with the part of the SDK that they use: in `cli` and `sdk`, where their imports look. */
async function layOutCommand(staging: string): Promise<void> {
  await compile(join(root, "cli/tsconfig.build.json"), staging);
  const { version, type } = await readJson(join(root, "cli/package.json"));
  await writeJson(join(staging, "cli/package.json"), { version, type });
  await writeJson(join(staging, "sdk/package.json"), { version, type });
}

async function layOutSdk(staging: string): Promise<Manifest> {
  await compile(join(root, "sdk/tsconfig.build.json"), join(staging, "dist"));
  await compile(join(root, "sdk/tsconfig.cjs.json"), join(staging, "dist/cjs"));
  await writeJson(join(staging, "dist/cjs/package.json"), { type: "commonjs" });
  await copyFile(join(root, "sdk/README.md"), join(staging, "README.md"));
  const {
    private: _private,
    scripts: _scripts,
    ...manifest
  } = await readJson(join(root, "sdk/package.json"));
  return manifest;
}

/** Types are the gate's to check, which takes seven times as long. */
async function compile(project: string, outDir: string): Promise<void> {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  await run(process.execPath, [compiler, "-p", project, "--noCheck", "--outDir", outDir]);
}

async function readJson(path: string): Promise<Manifest> {
  return JSON.parse(await readFile(path, "utf8")) as Manifest;
}

function writeJson(path: string, value: Manifest): Promise<void> {
  return writeFile(path, `${JSON.stringify(value, undefined, 2)}\n`);
}
