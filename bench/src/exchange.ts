import net from "node:net";

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

const readBytes = 64 * 1024;
const carriageReturn = 13;
const zero = 48;
/** CR LF CR LF as one number. */
const emptyLine = 0x0d0a0d0a;
const headEnd = Buffer.from("\r\n\r\n");

/**
 * Opens a connection of about the least that a client can cost, because it shares two cores with what it measures:
 * one buffer for all reads, and heads whose length is looked for where it was in the last one.
 */
export async function openExchange(options: ExchangeOptions): Promise<Exchange> {
  /** What has come of an answer that is longer than one read. */
  let partial: Buffer | undefined;
  let bodyAt = 0;
  let lengthAt = 0;

  function take(data: Buffer): void {
    const wanted = readHead(data);
    if (wanted === undefined || data.length < wanted) {
      partial = Buffer.from(data);
      return;
    }
    partial = undefined;
    const status = (data[9]! - zero) * 100 + (data[10]! - zero) * 10 + data[11]! - zero;
    options.onAnswer(status, data.subarray(bodyAt, wanted));
  }

  /** The length of the answer at the start of `data`; undefined while its head is incomplete. */
  function readHead(data: Buffer): number | undefined {
    if (bodyAt === 0 || data.length < bodyAt || data.readInt32BE(bodyAt - 4) !== emptyLine) {
      const end = data.indexOf(headEnd);
      if (end < 0) return undefined;
      bodyAt = end + 4;
      const match = /\r\ncontent-length: (?=\d)/i.exec(data.toString("latin1", 0, end));
      if (match === null) throw new Error("an answer does not say how long it is");
      lengthAt = match.index + match[0].length;
    }
    let length = 0;
    for (let at = lengthAt; data[at] !== carriageReturn; at++) length = length * 10 + data[at]! - zero;
    return bodyAt + length;
  }

  const socket = net.connect({
    host: options.host,
    port: options.port,
    noDelay: true,
    onread: {
      buffer: Buffer.allocUnsafeSlow(readBytes),
      callback(size, buffer) {
        const piece = (buffer as Buffer).subarray(0, size);
        take(partial === undefined ? piece : Buffer.concat([partial, piece]));
        return true;
      },
    },
  });
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  socket.on("close", () => options.onClose());
  socket.on("error", () => undefined);
  return { send: (request) => void socket.write(request), close: () => socket.destroy() };
}
