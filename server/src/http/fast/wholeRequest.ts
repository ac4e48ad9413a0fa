import { isHost } from "../contract/headProblem.ts";
import type { WholeRequest } from "../contract/route.ts";

/** Longer heads are left to Node's parser, which has the limit. */
const maxHeadBytes = 4096;

const requestLine = /^POST (\/[a-z0-9/-]*?\/)([0-9a-f]{32})((?:\/[a-z]+)?) HTTP\/1\.1\r\n/;
/** A publication: to the customer with this uid, or to none. */
const publicationLine = /^POST (\/p)(?:\/([A-Za-z0-9._:-]{1,128}))? HTTP\/1\.1\r\n/;
/**
 * RFC 9110, sections 5.1 and 5.5: a token, a colon, and visible characters, blanks and tabs. Blanks match in one way
 * only, and those after the value belong to it here: an expression that leaves them out tries a line of blanks in as
 * many ways as its length cubed.
 */
const headerLine = /([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x21-\x7e\x80-\xff][\x20-\x7e\x80-\xff\t]*)?\r\n/y;
const bearer = /^[Bb]earer (ak_live_[0-9a-f]{64})$/;
const decimal = /^[1-9][0-9]{0,7}$/;

/** After so many requests in a row with a new head, a connection's heads are no longer remembered. */
const maxNewHeads = 8;

/**
 * Reads the requests of one connection, each as {@link readWholeRequest} would: many a client sends the same head
 * again and again, and what was read of it holds for the next.
 */
export function createRequestReader(): (piece: Buffer) => WholeRequest | undefined {
  let last: { head: Buffer; length: number; request: WholeRequest } | undefined;
  let newHeads = 0;
  return (piece) => {
    if (last !== undefined && piece.length === last.length && startsWith(piece, last.head)) {
      newHeads = 0;
      const { path, id, headers, key } = last.request;
      return { path, id, headers, key, body: piece.subarray(last.head.length) };
    }
    const request = readWholeRequest(piece);
    if (request === undefined || newHeads >= maxNewHeads) {
      last = undefined;
      return request;
    }
    newHeads++;
    const head = copyOf(piece.subarray(0, piece.length - request.body.length));
    last = { head, length: piece.length, request: { ...request, body: noBody } };
    return request;
  };
}

const noBody = Buffer.alloc(0);

/** In memory of its own: the piece belongs to a larger block, which must not live as long as its connection. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

function startsWith(piece: Buffer, head: Buffer): boolean {
  return piece.compare(head, 0, head.length, 0, head.length) === 0;
}

/**
 * Reads a piece of a connection as one whole request, if it is nothing else: HTTP/1.1, POST, one id in the path or a
 * publication's, every header well-formed and named once, a body of the stated length to the last byte of the piece, an API
 * key, and no header that asks for anything beyond that. Whatever is not plainly so gives undefined, and is for
 * Node's parser to judge: this one refuses nothing and lets nothing through that the other would not.
 */
export function readWholeRequest(piece: Buffer): WholeRequest | undefined {
  const head = piece.toString("latin1", 0, maxHeadBytes);
  const line = readLine(head);
  if (line === undefined) return undefined;
  const headers: Record<string, string> = {};
  const bodyAt = readHeaders(head, line.length, headers);
  if (bodyAt === undefined || asksForMore(headers)) return undefined;
  const length = headers["content-length"];
  if (length === undefined || !decimal.test(length) || bodyAt + Number(length) !== piece.length) {
    return undefined;
  }
  const key = bearer.exec(headers["authorization"] ?? "");
  if (key === null) return undefined;
  const { path, id } = line;
  return { path, id, headers, key: key[1]!, body: piece.subarray(bodyAt) };
}

/** The path of the request line, what it names, and how long the line is. */
function readLine(head: string): { path: string; id: string; length: number } | undefined {
  const line = requestLine.exec(head);
  if (line !== null) return { path: `${line[1]}:id${line[3]}`, id: line[2]!, length: line[0].length };
  const publication = publicationLine.exec(head);
  if (publication === null) return undefined;
  const [{ length }, path, customer] = publication;
  if (customer === undefined) return { path: path!, id: "", length };
  // Clients resolve these two, and the framework answers who does not.
  if (customer === "." || customer === "..") return undefined;
  return { path: `${path}/:id`, id: customer, length };
}

/** Fills `headers` and gives where the body begins; undefined when a line is malformed or a name comes twice. */
function readHeaders(head: string, start: number, headers: Record<string, string>): number | undefined {
  let at = start;
  for (;;) {
    headerLine.lastIndex = at;
    const line = headerLine.exec(head);
    if (line === null) break;
    const name = line[1]!.toLowerCase();
    // Names of `Object.prototype`, such as `constructor`, count as duplicates.
    if (name in headers) return undefined;
    headers[name] = withoutBlanksBehind(line[2] ?? "");
    at = headerLine.lastIndex;
  }
  return head.startsWith("\r\n", at) ? at + 2 : undefined;
}

/** Blanks and tabs only: `trimEnd` would take a no-break space too, which is part of the value. */
function withoutBlanksBehind(value: string): string {
  let end = value.length;
  while (end > 0 && (value[end - 1] === " " || value[end - 1] === "\t")) end--;
  return value.slice(0, end);
}

/** Whether a header asks for something that only the framework does, or one is missing that it would miss. */
function asksForMore(headers: Record<string, string>): boolean {
  const connection = headers["connection"];
  return (
    headers["host"] === undefined ||
    !isHost(headers["host"]) ||
    headers["content-type"] !== "application/json" ||
    (connection !== undefined && connection !== "keep-alive") ||
    // Node's parser takes this one for `Connection`.
    headers["proxy-connection"] !== undefined ||
    headers["transfer-encoding"] !== undefined ||
    headers["content-encoding"] !== undefined ||
    headers["expect"] !== undefined ||
    headers["upgrade"] !== undefined ||
    headers["trailer"] !== undefined ||
    headers["te"] !== undefined
  );
}
