import { createHash } from "node:crypto";
import type { Readable } from "node:stream";

/** Maximum size of a line or a run. A manifest has 300 bytes for each partition: a year of days in 16 cells has 14 MB. */
const maxBytes = 256 * 2 ** 20;
const newline = 0x0a;

/**
 * Reads lines of JSON and runs of bytes from a stream, in the order in which they were written.
 * @param broken makes the error for a stream that ends early or contains anything else; the file's name precedes `what`.
 */
export function createFrameReader(stream: Readable, broken: (what: string, cause?: unknown) => Error) {
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const hash = createHash("sha256");
  let held: Buffer = Buffer.alloc(0);

  async function more(): Promise<boolean> {
    try {
      const { done, value } = await chunks.next();
      if (done === true) return false;
      held = held.length === 0 ? value : Buffer.concat([held, value]);
      return true;
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException;
      if (code === "ENOENT") throw broken("does not exist", cause);
      throw broken(`cannot be read: ${message}`, cause);
    }
  }

  function take(count: number): Buffer {
    const taken = held.subarray(0, count);
    held = held.subarray(count);
    hash.update(taken);
    return taken;
  }

  async function takeBytes(count: number): Promise<Buffer> {
    if (!(count >= 0 && count <= maxBytes)) throw broken("is damaged: it names an impossible length");
    // Collected in pieces, so that a long run is copied only once.
    const run: Buffer[] = [];
    let missing = count;
    while (missing > 0) {
      if (held.length === 0 && !(await more())) throw broken("is cut short");
      const piece = take(Math.min(missing, held.length));
      run.push(piece);
      missing -= piece.length;
    }
    return run.length === 1 ? run[0]! : Buffer.concat(run);
  }

  return {
    bytes: takeBytes,
    async line(): Promise<Record<string, unknown>> {
      // Collected in pieces, so that a long line is copied only once.
      const pieces: Buffer[] = [];
      let bytes = 0;
      while (!held.includes(newline)) {
        pieces.push(take(held.length));
        bytes += pieces.at(-1)!.length;
        if (bytes > maxBytes) throw broken("is no backup");
        if (!(await more())) throw broken(bytes === 0 ? "is cut short" : "is no backup, or is cut short");
      }
      const text = Buffer.concat([...pieces, take(held.indexOf(newline) + 1)]).toString("utf8");
      try {
        const value: unknown = JSON.parse(text);
        if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
      } catch (cause) {
        throw broken("is no backup, or is damaged", cause);
      }
      throw broken("is no backup, or is damaged");
    },
    /** Checks that the stream has ended. @throws {Error} from `broken` when anything is left. */
    async end(): Promise<void> {
      if (held.length > 0 || (await more())) throw broken("is damaged: it has data after its end");
    },
    /** The checksum of everything read so far, in hex. */
    sha256: () => hash.copy().digest("hex"),
  };
}
