import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { ApiError } from "../http/contract/errors.ts";

const maxMs = 5000;
const maxMemoryMiB = 256;

type Answer = { json: string } | { problem: string };

/** One at a time: a thread has the memory of a whole service. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Parses YAML 1.2 in a thread of its own, because a document of a MiB can take a second, and ends it after five.
 * @throws {ApiError} 400 that says what is wrong.
 */
export async function parseYaml(text: string): Promise<unknown> {
  const parsed = last.then(() => inThread(text));
  last = parsed.catch(() => undefined);
  const answer = await parsed;
  if ("problem" in answer) throw new ApiError(400, `the document is not valid YAML: ${answer.problem}`);
  return JSON.parse(answer.json) as unknown;
}

function inThread(text: string): Promise<Answer> {
  return new Promise((resolve) => {
    // Compiled, this file has another extension, and so has the thread's.
    const entry = new URL(`./yamlThread${extname(import.meta.filename)}`, import.meta.url);
    const worker = new Worker(entry, {
      workerData: text,
      resourceLimits: { maxOldGenerationSizeMb: maxMemoryMiB },
    });
    const timer = setTimeout(() => end({ problem: "it takes too long to read" }), maxMs);
    function end(answer: Answer): void {
      clearTimeout(timer);
      resolve(answer);
      void worker.terminate();
    }
    worker.once("message", (answer: Answer) => end(answer));
    worker.once("error", () => end({ problem: "it takes too much memory to read" }));
  });
}
