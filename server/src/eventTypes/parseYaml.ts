import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { type Read, unreadable } from "../http/contract/errors.ts";
import { parseStorable } from "../http/contract/json.ts";

const maxMs = 5000;
const maxMemoryMiB = 256;

type Answer = { json: string } | { problem: string };

/** The document that is read now. They come one after the other, because a thread takes as much memory as a whole service. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Parses YAML 1.2 in a thread of its own, because a document of a MiB can take a second, and ends the thread after five.
 * @throws {ApiError} 400 for what a body in JSON could not have either: many levels, and text that cannot be stored.
 */
export async function parseYaml(text: string): Promise<Read<unknown>> {
  const parsed = last.then(() => inThread(text));
  last = parsed.catch(() => undefined);
  const answer = await parsed;
  return "problem" in answer
    ? unreadable(`the document is not valid YAML: ${answer.problem}`)
    : { ok: true, value: parseStorable(Buffer.from(answer.json)) };
}

function inThread(text: string): Promise<Answer> {
  return new Promise((resolve) => {
    // The bundles of this module and of the thread have another extension.
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
