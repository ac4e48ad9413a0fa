import net from "node:net";
import tls from "node:tls";
import { createFramer } from "./framing.ts";

/** A connection that carries one request at a time, or several that are answered in their order (pipelining). */
export interface Exchange {
  /** Sends the bytes of a request, or of several; `onAnswer` gets each answer. */
  send(request: Buffer): void;
  close(): void;
}

export interface ExchangeOptions {
  host: string;
  port: number;
  /** Whether to use TLS. */
  isSecure?: boolean;
  /** The length of an answer's body if its head states none; when absent, such an answer is an error. */
  missingLength?: number;
  /** Called with each answer. The body is valid until the call returns. */
  onAnswer: (status: number, body: Buffer) => void;
  /** Called after the last whole answer of a read. */
  onRead?: () => void;
  /** Called once when the other side ends the connection. */
  onClose: () => void;
}

/** Whether a status is of the class 2xx. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

const readBytes = 64 * 1024;
const zero = 48;

/** Opens a connection that costs the client as little processor time as possible: without TLS, one buffer serves all reads. */
export async function openExchange(options: ExchangeOptions): Promise<Exchange> {
  const framer = createFramer(({ bytes, bodyAt }) => {
    const status = (bytes[9]! - zero) * 100 + (bytes[10]! - zero) * 10 + bytes[11]! - zero;
    options.onAnswer(status, bytes.subarray(bodyAt));
  }, options.missingLength);
  const read = (piece: Buffer): void => {
    framer(piece);
    options.onRead?.();
  };
  const socket = options.isSecure ? connectSecurely(options, read) : connect(options, read);
  await new Promise((resolve, reject) => {
    socket.once(options.isSecure ? "secureConnect" : "connect", resolve).once("error", reject);
  });
  socket.on("close", () => options.onClose());
  socket.on("error", () => undefined);
  return { send: (request) => void socket.write(request), close: () => socket.destroy() };
}

function connect({ host, port }: ExchangeOptions, read: (piece: Buffer) => void): net.Socket {
  return net.connect({
    host,
    port,
    noDelay: true,
    onread: {
      buffer: Buffer.allocUnsafeSlow(readBytes),
      callback(size, buffer) {
        read((buffer as Buffer).subarray(0, size));
        return true;
      },
    },
  });
}

function connectSecurely({ host, port }: ExchangeOptions, read: (piece: Buffer) => void): net.Socket {
  const servername = net.isIP(host) === 0 ? { servername: host } : {};
  return tls.connect({ host, port, ...servername, ALPNProtocols: ["http/1.1"] }).on("data", read);
}
