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
const beginning = ": open";
/** Characters of a refusal that the error shows. */
const shownCharacters = 400;

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
    sockets.add(socket);
    socket.on("error", () => undefined).once("close", () => sockets.delete(socket));
    await untilOpen(socket, key);
    if (!isRead) socket.pause();
  }

  async function openNext(): Promise<void> {
    while (next < keys.length) await openOne(keys[next++]!);
  }

  async function close(): Promise<void> {
    await Promise.all(
      [...sockets].map((socket) => {
        const closed = new Promise((resolve) => socket.once("close", resolve));
        socket.destroy();
        return closed;
      }),
    );
  }

  try {
    await Promise.all(Array.from({ length: atATime }, openNext));
  } catch (error) {
    next = keys.length;
    await close();
    throw error;
  }
  return { close };
}

/** Asks for a stream and waits for its first bytes. @throws if the service refuses it, also if the connection stays open. */
function untilOpen(socket: net.Socket, key: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = "";
    const refuse = (): void => reject(new Error(`a stream was refused: ${text.slice(0, shownCharacters)}`));
    const read = (piece: Buffer): void => {
      text += piece.toString("latin1");
      if (text.includes(beginning)) {
        // Later bytes are read and dropped.
        socket.off("data", read).resume();
        resolve();
      } else if (text.includes("\r\n\r\n") && !text.startsWith("HTTP/1.1 200 ")) refuse();
    };
    socket.once("error", reject).once("close", refuse).on("data", read);
    socket.write(`GET /api/v1/stream HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${key}\r\n\r\n`);
  });
}
