import { write, writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Takes whole lines and writes them out in large pieces, off the hot path. */
export type LineWriter = ReturnType<typeof createLineWriter>;

/** A piece is written when it is this long, or this long after its first line. */
const pieceLength = 65_536;
const maxDelayMs = 100;
/** Lines that may wait for a slow reader. Beyond it lines are dropped, and the next line says how many. */
const maxWaitingLength = 16 * 1024 * 1024;

/**
 * Lines to a file descriptor, in order, one write under way at a time. A line costs a string's concatenation: a
 * general-purpose destination, which measures and encodes each, took a fifth of an item's time.
 */
export function createLineWriter(fd: number) {
  let gathered = "";
  let underWay: Buffer | undefined;
  let dropped = 0;
  const schedule = soon(writeNext);

  function writeNext(): void {
    if (underWay !== undefined || gathered === "") return;
    underWay = takePiece();
    writeAll(underWay);
  }

  function takePiece(): Buffer {
    const notice =
      dropped === 0 ? "" : `{"level":40,"msg":"${dropped} log lines were dropped: nobody read them"}\n`;
    const piece = Buffer.from(gathered + notice);
    gathered = "";
    dropped = 0;
    return piece;
  }

  function writeAll(bytes: Buffer): void {
    write(fd, bytes, (error, written) => {
      if (error?.code === "EAGAIN") {
        setTimeout(() => writeAll(bytes), maxDelayMs).unref();
        return;
      }
      // A failure of the log itself cannot be logged; the service goes on without it.
      const rest = error ? undefined : bytes.subarray(written);
      underWay = rest?.length ? rest : undefined;
      if (underWay !== undefined) writeAll(underWay);
      else if (gathered.length >= pieceLength) writeNext();
      else if (gathered !== "") schedule();
    });
  }

  function isWriting(): boolean {
    return underWay !== undefined;
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
    /** Writes everything that is left, within two seconds; for the end of the process. */
    async flush(): Promise<void> {
      const deadlineMs = performance.now() + flushLimitMs;
      // The thread pool has this piece and may have written it: written here as well, its lines would be there twice.
      while (isWriting() && performance.now() < deadlineMs) await delay(1);
      if (!isWriting()) writeSyncFully(fd, takePiece(), deadlineMs);
    },
  };
}

/** Calls it once, a while after the first of several wishes. */
function soon(run: () => void): () => void {
  let isScheduled = false;
  return () => {
    if (isScheduled) return;
    isScheduled = true;
    setTimeout(() => {
      isScheduled = false;
      run();
    }, maxDelayMs).unref();
  };
}

const flushLimitMs = 2_000;

function writeSyncFully(fd: number, bytes: Buffer, deadlineMs: number): void {
  let at = 0;
  while (at < bytes.length && performance.now() < deadlineMs) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
    }
  }
}
