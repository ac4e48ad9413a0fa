import { createHash } from "node:crypto";
import type { Readable } from "node:stream";

const maxLineBytes = 16 * 2 ** 20;
const maxRunBytes = 256 * 2 ** 20;
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
    if (!(count >= 0 && count <= maxRunBytes)) throw broken("is damaged: it names an impossible length");
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
      let end = held.indexOf(newline);
      while (end === -1) {
        if (held.length > maxLineBytes) throw broken("is no backup");
        const from = held.length;
        if (!(await more())) throw broken(from === 0 ? "is cut short" : "is no backup, or is cut short");
        end = held.indexOf(newline, from);
      }
      const text = take(end + 1).toString("utf8");
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
