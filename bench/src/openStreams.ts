import net from "node:net";
import { host } from "./workload.ts";

/** A group of open streams of server-sent events. */
export interface OpenStreams {
  /** Closes all streams; resolves when every connection is closed. */
  close(): Promise<void>;
}

/** Number of connections that are opened at the same time. */
const atATime = 64;
/** The first bytes of every stream. */
const beginning = ": open\n\n";

/**
 * Opens `/api/v1/stream` once per key; resolves when all streams have started.
 * @param isRead False for clients that stop reading after the start, so that events stay in the service's buffers.
 */
export async function openStreams(
  port: number,
  keys: readonly string[],
  isRead = true,
): Promise<OpenStreams> {
  const sockets = new Set<net.Socket>();
  let next = 0;

  async function openOne(key: string): Promise<void> {
    const socket = net.connect({ host, port });
    let text = "";
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.once("close", () => reject(new Error(`a stream was refused: ${text.slice(0, 200)}`)));
      socket.on("data", (piece: Buffer) => {
        if (text.endsWith(beginning)) return;
        text += piece.toString("latin1");
        // The bytes of the stream's start are followed by the end of their HTTP chunk.
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
