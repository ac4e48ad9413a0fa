import { connect } from "node:net";

/** The answer to bytes that need not be HTTP. */
export interface RawAnswer {
  /** 0 when the connection closed without an answer. */
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** A request as bytes, sent in pieces with pauses between them; the client may close its side afterwards. */
export interface RawRequest {
  pieces: readonly Buffer[];
  pauseMs?: number;
  /** Whether the client closes its side after the last piece, as a client that dies does. */
  closes?: boolean;
}

/**
 * Sends bytes on a new connection.
 * @returns The first complete answer, or status 0 when the service closed without one.
 * @throws {Error} when neither happened within the limit.
 */
export function sendRaw(port: number, request: RawRequest, limitMs: number): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    let received = Buffer.alloc(0);
    const finish = (answer: RawAnswer | undefined): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer ?? { status: 0, headers: {}, body: "" });
    };
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no answer within ${limitMs} ms, only: ${received.toString("latin1").slice(0, 200)}`));
    }, limitMs);
    socket.on("data", (data: Buffer) => {
      received = Buffer.concat([received, data]);
      const answer = parseAnswer(received, false);
      if (answer !== undefined) finish(answer);
    });
    socket.on("error", () => finish(parseAnswer(received, true)));
    socket.on("close", () => finish(parseAnswer(received, true)));
    void writePieces(socket, request);
  });
}

async function writePieces(
  socket: ReturnType<typeof connect>,
  { pieces, pauseMs = 0, closes = false }: RawRequest,
): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed) return;
    socket.write(piece);
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  if (closes) socket.end();
}

/** Parses the bytes so far; undefined while the answer is not complete. An interim answer (1xx) is skipped. */
function parseAnswer(bytes: Buffer, isLast: boolean): RawAnswer | undefined {
  const text = bytes.toString("latin1");
  const head = /^HTTP\/1\.1 (\d{3})[^\r]*\r\n((?:[^\r]+\r\n)*)\r\n/.exec(text);
  if (head === null) return undefined;
  if (head[1]!.startsWith("1")) return parseAnswer(bytes.subarray(head[0].length), isLast);
  const headers = Object.fromEntries(
    head[2]!
      .split("\r\n")
      .filter(Boolean)
      .map((line) => [line.split(":", 1)[0]!.toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
  const body = bytes.subarray(head[0].length);
  const length = headers["content-length"];
  if (!isLast && (length === undefined || body.length < Number(length))) return undefined;
  const whole = length === undefined ? body : body.subarray(0, Number(length));
  return { status: Number(head[1]), headers, body: whole.toString("utf8") };
}
