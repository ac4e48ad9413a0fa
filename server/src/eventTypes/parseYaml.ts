import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { type Read, unreadable } from "../http/contract/errors.ts";
import { parseStorable } from "../http/contract/json.ts";

const maxMs = 5000;
const maxMemoryMiB = 256;

type Answer = { json: string } | { problem: string };

/** Settles when the last document is parsed. One is parsed at a time: a thread takes as much memory as a whole service. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Parses YAML 1.2 in a worker thread, because a document of 1 MiB can take a second. The thread is ended after five seconds.
 * @throws {ApiError} 400 for content that is refused in a JSON body, too: too many levels, or text that cannot be stored.
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
    // The extension is .ts in the sources and another one in the bundle.
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
