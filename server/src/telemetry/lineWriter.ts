import { write, writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Collects complete lines and writes them in large pieces, outside of the hot path. */
export type LineWriter = ReturnType<typeof createLineWriter>;

/** A piece is written when it has this many characters, or this long after its first line. */
const pieceLength = 65_536;
const maxDelayMs = 100;
/** Maximum characters that wait for a slow reader. Further lines are dropped, and the next piece has a line with their number. */
const maxWaitingLength = 16 * 1024 * 1024;

/**
 * Writes lines to a file descriptor in order, with one write at a time. A line costs one string concatenation; a general-purpose
 * destination, which measures and encodes each line, took a fifth of the time per item.
 */
export function createLineWriter(fd: number) {
  let gathered = "";
  let inFlight: Buffer | undefined;
  let dropped = 0;
  /** The code of the error with which the last piece was lost. */
  let failure: string | undefined;
  let timer: NodeJS.Timeout | undefined;

  function schedule(): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      writeNext();
    }, maxDelayMs).unref();
  }

  function writeNext(): void {
    if (inFlight !== undefined || gathered === "") return;
    inFlight = takePiece();
    writeAll(inFlight);
  }

  function takePiece(): Buffer {
    const notice =
      dropped === 0
        ? ""
        : `{"level":40,"msg":"${dropped} log lines were dropped because the reader was too slow"}\n`;
    // The lost piece may have begun, so that the last line in the log is half a line.
    const lost =
      failure === undefined
        ? ""
        : `\n{"level":40,"msg":"log lines were lost because the log could not be written (${failure})"}\n`;
    const piece = Buffer.from(lost + gathered + notice);
    gathered = "";
    dropped = 0;
    failure = undefined;
    return piece;
  }

  function writeAll(bytes: Buffer): void {
    write(fd, bytes, (error, written) => {
      if (error?.code === "EAGAIN") {
        setTimeout(() => writeAll(bytes), maxDelayMs).unref();
        return;
      }
      // The service continues without the log; once it can be written again, it says that lines are missing.
      failure = error?.code;
      const rest = error ? undefined : bytes.subarray(written);
      inFlight = rest?.length ? rest : undefined;
      if (inFlight !== undefined) writeAll(inFlight);
      else if (gathered.length >= pieceLength) writeNext();
      else if (gathered !== "") schedule();
    });
  }

  function isWriting(): boolean {
    return inFlight !== undefined;
  }

  return {
    write(line: string): void {
      if (gathered.length >= maxWaitingLength) {
        dropped++;
        return;
      }
      gathered += line;
      if (gathered.length >= pieceLength) writeNext();
      else schedule();
    },
    /** Writes all waiting lines within two seconds; called when the process ends. */
    async flush(): Promise<void> {
      const deadlineMs = performance.now() + flushLimitMs;
      // The thread pool has this piece and may have written it. Writing it here too could duplicate its lines.
      while (isWriting() && performance.now() < deadlineMs) await delay(1);
      if (!isWriting()) failure = writeSyncFully(fd, takePiece(), deadlineMs);
    },
  };
}

const flushLimitMs = 2_000;

/** @returns the code of the error with which the rest was lost. */
function writeSyncFully(fd: number, bytes: Buffer, deadlineMs: number): string | undefined {
  let at = 0;
  while (at < bytes.length && performance.now() < deadlineMs) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "EAGAIN") return code;
    }
  }
  return at < bytes.length ? "EAGAIN" : undefined;
}
