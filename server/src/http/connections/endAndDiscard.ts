import type { Socket } from "node:net";

/** The bound on bytes and time for reading a client that keeps sending. */
const maxDiscardedBytes = 64 * 1024 * 1024;
const maxDiscardingMs = 5_000;

/**
 * Writes the last of a connection, ends this side, and reads what still comes without looking at it, until the client
 * ends its side or a limit is reached. A connection that is closed with bytes unread is reset, and the client loses
 * the answer that it has not read yet (RFC 9112, section 9.6).
 */
export function endAndDiscard(socket: Socket, last?: string): void {
  if (socket.destroyed) return;
  let discardedBytes = 0;
  const timer = setTimeout(() => socket.destroy(), maxDiscardingMs);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
  socket.on("data", (piece: Buffer) => {
    discardedBytes += piece.length;
    if (discardedBytes > maxDiscardedBytes) socket.destroy();
  });
  socket.on("end", () => socket.end());
  socket.on("error", () => socket.destroy());
  if (last === undefined) socket.end();
  else socket.end(last);
  socket.resume();
}
