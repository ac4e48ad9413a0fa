import { execFile } from "node:child_process";
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { bundlePrograms, root, serviceEntries, unbundledPackages } from "./bundlePrograms.ts";

const run = promisify(execFile);

type Manifest = Record<string, unknown>;

/** The published packages by their names in `pack.ts`. Each function writes the package's files into a folder. */
export const packages = { service: layOutService, cli: layOutClient, sdk: layOutSdk } as const;
export type PackageName = keyof typeof packages;

/** Packs one package. @returns the tarball's path. */
export async function packOne(name: PackageName, destination: string): Promise<string> {
  const staging = await mkdtemp(join(tmpdir(), "postrider-pack-"));
  try {
    const manifest = await packages[name](staging);
    await writeJson(join(staging, "package.json"), { ...manifest, ...publishedFrom(process.env) });
    await copyFile(join(root, "LICENSE"), join(staging, "LICENSE"));
    const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", destination], {
      cwd: staging,
    });
    // npm prints one entry for each package: an array, or in newer versions an object by name.
    const [packed] = Object.values(JSON.parse(stdout) as Record<string, { filename: string }>);
    return join(destination, basename(packed!.filename));
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/**
 * Fields for publishing. npm accepts a package with provenance only if its manifest names the repository whose workflow
 * builds it, which is known only from the workflow's environment. Without that environment the manifest names no repository.
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
  // A package has no sources that could change, so there are no inputs to compare.
  await writeFile(join(folder, "inputs.json"), "[]");
  await cp(folder, join(staging, "dist/service"), { recursive: true });
  // SQL and other files that the bundles read from the folders of the sources.
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

/** Copies the command and its loader, whose imports are changed to the compiled files. */
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

/** Compiles the client commands and the part of the SDK that they use into `cli` and `sdk`, to which their imports refer. */
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

/** Compiles a project without checking types: the gate checks them, and it takes seven times as long. */
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
