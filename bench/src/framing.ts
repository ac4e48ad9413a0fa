/** Takes the next bytes of a connection. */
export type Framer = (piece: Buffer) => void;

/** A whole HTTP/1.1 message; valid until the callback returns. */
export interface Message {
  /** From the first byte of the head to the last of the body. */
  bytes: Buffer;
  bodyAt: number;
}

const carriageReturn = 13;
const zero = 48;
/** CR LF CR LF as one number. */
const emptyLine = 0x0d0a0d0a;
const headEnd = Buffer.from("\r\n\r\n");
const lineEnd = Buffer.from("\r\n");
const absent = -1;

/**
 * Splits a connection's bytes into messages with `content-length`, or with chunks, which it does not decode. It costs as little
 * processor time as possible, because the benchmark shares two cores with the service: a head that is as long as the head before
 * and has its `content-length` at the same offset is not searched again.
 * @param missingLength The body's length if the head does not state it; when absent, such a message is an error.
 */
export function createFramer(onMessage: (message: Message) => void, missingLength?: number): Framer {
  /** The first bytes of a message that is longer than one read. */
  let partial: Buffer | undefined;
  let headBytes = 0;
  let lengthAt = absent;
  /** The four bytes before the length: the end of the header's name, in its spelling. */
  let lengthMark = 0;
  let isChunked = false;

  /** The length of the message that starts at `start`; undefined until the bytes that tell it have arrived. */
  function messageBytes(data: Buffer, start: number): number | undefined {
    const isAsBefore =
      lengthAt !== absent &&
      data.length >= start + headBytes &&
      data.readInt32BE(start + headBytes - 4) === emptyLine &&
      data.readInt32BE(start + lengthAt - 4) === lengthMark;
    if (!isAsBefore && !readHead(data, start)) return undefined;
    if (isChunked) return chunkedBytes(data, start);
    if (lengthAt === absent) return headBytes + missingLength!;
    let length = 0;
    for (let at = start + lengthAt; data[at] !== carriageReturn; at++)
      length = length * 10 + data[at]! - zero;
    return headBytes + length;
  }

  function chunkedBytes(data: Buffer, start: number): number | undefined {
    for (let at = start + headBytes; ;) {
      const end = data.indexOf(lineEnd, at);
      if (end < 0) return undefined;
      const size = Number.parseInt(data.toString("latin1", at, end), 16);
      if (!(size >= 0)) throw new Error("a message has a chunk without a length");
      if (size > 0) {
        at = end + lineEnd.length + size + lineEnd.length;
        continue;
      }
      const last = data.indexOf(headEnd, end);
      return last < 0 ? undefined : last + headEnd.length - start;
    }
  }

  function readHead(data: Buffer, start: number): boolean {
    const end = data.indexOf(headEnd, start);
    if (end < 0) return false;
    const head = data.toString("latin1", start, end);
    const match = /\r\ncontent-length: (?=\d)/i.exec(head);
    isChunked = match === null && /\r\ntransfer-encoding: *chunked/i.test(head);
    if (match === null && !isChunked && missingLength === undefined)
      throw new Error("a message has neither a content-length nor chunks");
    lengthAt = match === null ? absent : match.index + match[0].length;
    if (lengthAt !== absent) lengthMark = data.readInt32BE(start + lengthAt - 4);
    headBytes = end + headEnd.length - start;
    return true;
  }

  return (piece) => {
    const data = partial === undefined ? piece : Buffer.concat([partial, piece]);
    partial = undefined;
    let at = 0;
    while (at < data.length) {
      const length = messageBytes(data, at);
      if (length === undefined || at + length > data.length) {
        partial = Buffer.from(data.subarray(at));
        return;
      }
      onMessage({
        bytes: at === 0 && length === data.length ? data : data.subarray(at, at + length),
        bodyAt: headBytes,
      });
      at += length;
    }
  };
}
