import { connect } from "node:net";
import { onTestFinished } from "vitest";

/** An answer as received: headers keep their order and case. */
export interface WireAnswer {
  /** Such as `HTTP/1.1 202 Accepted`. */
  statusLine: string;
  status: number;
  headers: (readonly [name: string, value: string])[];
  body: string;
}

/** A connection of a client that can write any bytes. */
export interface RawConnection {
  /** Writes one piece and resolves once the operating system has accepted it. */
  write(piece: string | Buffer): Promise<void>;
  /** Resolves to the next answer; rejects when the connection ends or the limit passes before it is complete. */
  answer(): Promise<WireAnswer>;
  /** Ends the client's side only. */
  halfClose(): void;
  destroy(): void;
  /** Resolves once the server has ended its side. */
  ended: Promise<void>;
}

const answerLimitMs = 60_000;

/** A connection that is closed after its test. */
export async function rawConnectionOfTest(port: number): Promise<RawConnection> {
  const connection = await openRawConnection(port);
  onTestFinished(() => connection.destroy());
  return connection;
}

/** The fixture `open`: connections to the file's service that are closed after their test. */
export const opener =
  ({ service }: { service: { port: number } }) =>
  (): Promise<RawConnection> =>
    rawConnectionOfTest(service.port);

/** Sends bytes on a new connection, and returns the answer. */
export async function exchangeBytes(port: number, request: Buffer | string): Promise<WireAnswer> {
  const connection = await rawConnectionOfTest(port);
  await connection.write(request);
  return connection.answer();
}

/** Opens a connection to a port on loopback. Text is Latin-1. */
export async function openRawConnection(port: number): Promise<RawConnection> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
  let received: Buffer = Buffer.alloc(0);
  let hasEnded = false;
  const watchers = new Set<() => void>();
  const tell = (): void => {
    for (const look of watchers) look();
  };
  socket.on("data", (piece: Buffer) => {
    received = Buffer.concat([received, piece]);
    tell();
  });
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      hasEnded = true;
      tell();
      resolve();
    };
    socket.on("end", end).on("close", end);
  });
  socket.on("error", () => undefined);
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  return {
    write: (piece) =>
      new Promise((resolve) => {
        socket.write(typeof piece === "string" ? Buffer.from(piece, "latin1") : piece, () => resolve());
      }),
    answer: () =>
      new Promise((resolve, reject) => {
        const give = (settle: () => void): void => {
          clearTimeout(timer);
          watchers.delete(look);
          settle();
        };
        const fail = (why: string): void =>
          give(() =>
            reject(new Error(`${why} before a whole answer, after: ${received.toString("latin1")}`)),
          );
        const timer = setTimeout(fail, answerLimitMs, `${answerLimitMs} ms passed`);
        function look(): void {
          const found = firstAnswer(received);
          if (found !== undefined) {
            received = received.subarray(found.length);
            give(() => resolve(found.answer));
          } else if (hasEnded) fail("the connection ended");
        }
        watchers.add(look);
        look();
      }),
    halfClose: () => void socket.end(),
    destroy: () => void socket.destroy(),
    ended,
  };
}

function firstAnswer(bytes: Buffer): { answer: WireAnswer; length: number } | undefined {
  const text = bytes.toString("latin1");
  const headLength = text.indexOf("\r\n\r\n") + 4;
  if (headLength < 4) return undefined;
  const [statusLine = "", ...lines] = text.slice(0, headLength - 4).split("\r\n");
  const headers = lines.map((line) => {
    const colon = line.indexOf(": ");
    return [line.slice(0, colon), line.slice(colon + 2)] as const;
  });
  const said = headers.find(([name]) => name.toLowerCase() === "content-length");
  if (said === undefined) throw new Error(`an answer without a length: ${text}`);
  const length = headLength + Number(said[1]);
  if (bytes.length < length) return undefined;
  const body = bytes.toString("utf8", headLength, length);
  return { answer: { statusLine, status: Number(statusLine.split(" ")[1]), headers, body }, length };
}
