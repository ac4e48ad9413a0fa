import net from "node:net";
import { createFramer } from "./framing.ts";

/** A connection that carries one request at a time. */
export interface Exchange {
  /** Sends the bytes of a request; `onAnswer` gets the answer. */
  send(request: Buffer): void;
  close(): void;
}

export interface ExchangeOptions {
  host: string;
  port: number;
  /** Called with each answer. The body is valid until the call returns. */
  onAnswer: (status: number, body: Buffer) => void;
  /** Called once when the other side ends the connection. */
  onClose: () => void;
}

/** Whether a status is of the class 2xx. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

const readBytes = 64 * 1024;
const zero = 48;

/** Opens a connection at about the least possible cost for a client: one buffer serves all reads. */
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
