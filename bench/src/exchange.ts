import net from "node:net";
import { createFramer } from "./framing.ts";

/** A connection that carries one request at a time. */
export interface Exchange {
  /** Sends the bytes of a request; the answer is told to `onAnswer`. */
  send(request: Buffer): void;
  close(): void;
}

export interface ExchangeOptions {
  host: string;
  port: number;
  /** Told of each answer. The body is valid until this returns. */
  onAnswer: (status: number, body: Buffer) => void;
  /** Told once when the other side ends the connection. */
  onClose: () => void;
}

/** Whether a status is of the class 2xx. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

const readBytes = 64 * 1024;
const zero = 48;

/** Opens a connection of about the least that a client can cost: one buffer for all reads. */
export async function openExchange(options: ExchangeOptions): Promise<Exchange> {
  const framer = createFramer(({ bytes, bodyAt }) => {
    const status = (bytes[9]! - zero) * 100 + (bytes[10]! - zero) * 10 + bytes[11]! - zero;
    options.onAnswer(status, bytes.subarray(bodyAt));
  });
  const socket = net.connect({
    host: options.host,
    port: options.port,
    noDelay: true,
    onread: {
      buffer: Buffer.allocUnsafeSlow(readBytes),
      callback(size, buffer) {
        framer((buffer as Buffer).subarray(0, size));
        return true;
      },
    },
  });
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  socket.on("close", () => options.onClose());
  socket.on("error", () => undefined);
  return { send: (request) => void socket.write(request), close: () => socket.destroy() };
}
