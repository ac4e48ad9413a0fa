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
const space = 32;
/** CR LF CR LF as one number. */
const emptyLine = 0x0d0a0d0a;
const headEnd = Buffer.from("\r\n\r\n");
const absent = -1;

/**
 * Splits a connection's bytes into messages with `content-length`, at about the least possible cost, because the
 * benchmark shares two cores with the service. If a head has the length of the one before, it is not searched again, and
 * the body's length is read at the same offset.
 * @param missingLength The body's length if the head has none; an error when absent.
 */
export function createFramer(onMessage: (message: Message) => void, missingLength?: number): Framer {
  /** The first bytes of a message that is longer than one read. */
  let partial: Buffer | undefined;
  let headBytes = 0;
  let lengthAt = 0;

  /** The length of the message that starts at `start`; undefined while its head is incomplete. */
  function messageBytes(data: Buffer, start: number): number | undefined {
    const isAsBefore =
      headBytes > 0 &&
      data.length >= start + headBytes &&
      data.readInt32BE(start + headBytes - 4) === emptyLine &&
      (lengthAt === absent || data[start + lengthAt - 1] === space);
    if (!isAsBefore && !readHead(data, start)) return undefined;
    if (lengthAt === absent) return headBytes + missingLength!;
    let length = 0;
    for (let at = start + lengthAt; data[at] !== carriageReturn; at++)
      length = length * 10 + data[at]! - zero;
    return headBytes + length;
  }

  function readHead(data: Buffer, start: number): boolean {
    const end = data.indexOf(headEnd, start);
    if (end < 0) return false;
    const head = data.toString("latin1", start, end);
    const match = /\r\ncontent-length: (?=\d)/i.exec(head);
    if (match === null && missingLength === undefined)
      throw new Error("a message does not say how long it is");
    lengthAt = match === null ? absent : match.index + match[0].length;
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
