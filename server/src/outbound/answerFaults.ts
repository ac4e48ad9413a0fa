/** How far the answer had come when it ended. */
export type AnswerProgress = "nothing" | "headers" | "body";

/** Error codes of undici's parser with their meaning; the first that the message contains applies. */
const parserFaults: readonly (readonly [string, string])[] = [
  ["Expected HTTP/", 'it does not begin with "HTTP/"'],
  ["Expected dot", "its version is not one of HTTP/1"],
  ["Invalid HTTP version", "its version is not one of HTTP/1"],
  ["Invalid status code", "its status is not a number of three digits"],
  ["Content-Length", "its Content-Length is not a number"],
  ["Transfer-Encoding", "its Transfer-Encoding is not valid"],
  ["chunk", "its chunks are malformed"],
  ["header", "one of its headers is malformed"],
  ["Missing expected CR", "its lines do not end with CR LF"],
  ["Missing expected LF", "its lines do not end with CR LF"],
];

/** Says what is wrong with an answer that undici could not read, for a person. */
export function describeParserError(error: Error): string {
  if (isTlsRecord((error as { data?: unknown }).data)) {
    return "the port speaks TLS: the URL has to begin with https://";
  }
  const found = parserFaults.find(([said]) => error.message.includes(said));
  const why = found === undefined ? "" : `: ${found[1]}`;
  return `the answer is not valid HTTP${why}`;
}

/** The type of the record, and the first byte of its version. */
const tlsBeginnings = ["\u0015\u0003", "\u0016\u0003"];

/** An alert, or a handshake, of some version of TLS; a server says so to who does not speak it. */
function isTlsRecord(data: unknown): boolean {
  return typeof data === "string" && tlsBeginnings.some((bytes) => data.startsWith(bytes));
}

/** Two lengths that differ, a length beside chunks, or one past all numbers. */
export const contradictoryLength =
  "the answer is not valid HTTP: its Content-Length contradicts another header, or is too large";

/**
 * The answer is none to the request that was sent. undici ends the connection at a 100 (Continue) that no `Expect` asked for,
 * though more follows, and takes the other answers below 200 for what they are.
 * @param said undici's message, which begins with "bad".
 */
export function describeStrayAnswer(said: string): string {
  return said === "bad upgrade"
    ? "the answer switches to another protocol, which nobody asked for"
    : "the answer begins with 100 Continue, which nobody asked for";
}

const closings: Record<AnswerProgress, string> = {
  nothing: "the connection was closed without an answer",
  headers: "the connection was closed in the middle of the answer's headers",
  body: "the connection was closed in the middle of the answer",
};

export function describeClosing(progress: AnswerProgress): string {
  return closings[progress];
}
