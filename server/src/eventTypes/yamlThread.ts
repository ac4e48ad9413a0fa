import { parentPort, workerData } from "node:worker_threads";
import { parse } from "yaml";

/** The worker thread of `parseYaml.ts`: gets a text, and posts its value as JSON or the parser's error. */
try {
  const value: unknown = parse(workerData as string, { maxAliasCount: 100, prettyErrors: false });
  parentPort!.postMessage({ json: JSON.stringify(value) ?? "null" });
} catch (error) {
  parentPort!.postMessage({ problem: (error as Error).message.split("\n")[0]!.slice(0, 200) });
}
