import { once } from "node:events";
import type { Writable } from "node:stream";
import { finished } from "node:stream/promises";

/** Waits until a stream takes more, or has ended. It leaves no listeners behind. @throws what the stream fails with. */
export async function drained(sink: Writable): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  try {
    await Promise.race([once(sink, "drain", { signal }), finished(sink, { signal, cleanup: true })]);
  } finally {
    settled.abort();
  }
}
