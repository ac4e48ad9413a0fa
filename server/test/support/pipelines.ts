import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A client that writes without waiting for answers, and the answers it received. */
export interface Pipeline {
  socket: Socket;
  text: () => string;
  /** The status of each answer so far. */
  statuses: () => number[];
  closed: Promise<unknown>;
}

/** Opens a connection to a port on loopback and writes `bytes` in one piece. */
export async function pipeline(port: number, bytes: Buffer | string): Promise<Pipeline> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  onTestFinished(() => void socket.destroy());
  // Answers may have a hundred megabytes: each piece is parsed once, however often a test asks.
  const pieces: string[] = [];
  const statuses: number[] = [];
  let rest = "";
  socket
    .on("data", (bytes: Buffer) => {
      const piece = bytes.toString("latin1");
      pieces.push(piece);
      rest += piece;
      let end = 0;
      for (const { 0: start, 1: status, index } of rest.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
        statuses.push(Number(status));
        end = index + start.length;
      }
      // The start of an answer may be split between two pieces.
      rest = rest.slice(Math.max(end, rest.length - "HTTP/1.1 200".length));
    })
    .on("error", () => undefined);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  socket.write(bytes);
  return {
    socket,
    text: () => pieces.join(""),
    statuses: () => [...statuses],
    closed,
  };
}
