import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A client that writes without waiting for answers, and what came back. */
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
  let text = "";
  socket.on("data", (piece: Buffer) => (text += piece.toString("latin1"))).on("error", () => undefined);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  socket.write(bytes);
  return {
    socket,
    text: () => text,
    statuses: () => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status)),
    closed,
  };
}
