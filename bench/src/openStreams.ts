import net from "node:net";
import { host } from "./workload.ts";

/** Streams of server-sent events that were opened together. */
export interface OpenStreams {
  /** How many of them are still open. */
  open(): number;
  /** Bytes that came, all of them together. */
  bytes(): number;
  /** Ends them all, and resolves when that is done. */
  close(): Promise<void>;
}

/** So many are being opened at a time. */
const atATime = 64;
/** What every stream begins with. */
const beginning = ": open\n\n";

/**
 * Opens `/api/v1/stream` once with each key; resolves when all have begun.
 * @param isRead False for clients that read nothing after the beginning, so that what is told stays with the service.
 */
export async function openStreams(
  port: number,
  keys: readonly string[],
  isRead = true,
): Promise<OpenStreams> {
  const sockets = new Set<net.Socket>();
  let bytes = 0;
  let next = 0;

  async function openOne(key: string): Promise<void> {
    const socket = net.connect({ host, port });
    let text = "";
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.once("close", () => reject(new Error(`a stream was refused: ${text.slice(0, 200)}`)));
      socket.on("data", (piece: Buffer) => {
        bytes += piece.length;
        if (text.endsWith(beginning)) return;
        text += piece.toString("latin1");
        // The chunk's end follows.
        if (!text.trimEnd().endsWith(": open")) return;
        text = beginning;
        if (!isRead) socket.pause();
        resolve();
      });
      socket.write(`GET /api/v1/stream HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${key}\r\n\r\n`);
    });
    sockets.add(socket);
    socket.on("error", () => undefined).once("close", () => sockets.delete(socket));
  }

  async function openNext(): Promise<void> {
    while (next < keys.length) await openOne(keys[next++]!);
  }

  await Promise.all(Array.from({ length: atATime }, openNext));
  return {
    open: () => sockets.size,
    bytes: () => bytes,
    async close() {
      await Promise.all(
        [...sockets].map((socket) => {
          const closed = new Promise((resolve) => socket.once("close", resolve));
          socket.destroy();
          return closed;
        }),
      );
    },
  };
}
