import { readWholeRequest } from "../../src/http/fast/wholeRequest.ts";

export const plainId = "0192f1c3a5b87abc8def0123456789ab";
export const plainKey = `ak_live_${"0f".repeat(32)}`;
export const plainHeaders: readonly string[] = headersWith(plainKey);

/** A request's parts, for bytes that a client would not make. */
export interface Parts {
  line?: string;
  headers?: readonly string[];
  /** Headers beside those, in front of the content length. */
  more?: readonly string[];
  /** The header line with the content length; null for none. */
  length?: string | null;
  body?: string | Buffer;
  /** Bytes after the body. */
  behind?: string;
}

/** A request's bytes; what is not said is plain. Text is Latin-1, but UTF-8 in the body. */
export function requestBytes(parts: Parts = {}): Buffer {
  const { line = `POST /t/${plainId} HTTP/1.1`, headers = plainHeaders, more = [], behind = "" } = parts;
  const { body = '{"a":1}' } = parts;
  const content = typeof body === "string" ? Buffer.from(body) : body;
  const length = parts.length === undefined ? `Content-Length: ${content.length}` : parts.length;
  const lines = [line, ...headers, ...more, ...(length === null ? [] : [length]), "\r\n"];
  return Buffer.concat([Buffer.from(lines.join("\r\n"), "latin1"), content, Buffer.from(behind, "latin1")]);
}

/** The parts of an item's request; missing parts are valid. */
export interface ItemParts extends Pick<Parts, "more" | "body"> {
  path?: "t" | "e";
  targetId: string;
  key: string;
}

export function itemBytes({ path = "t", targetId, key, more = [], body = "{}" }: ItemParts): Buffer {
  return requestBytes({
    line: `POST /${path}/${targetId} HTTP/1.1`,
    headers: headersWith(key),
    more,
    body,
  });
}

/** The bytes as they are, for a request that takes the fast path when they arrive in one piece. */
export function onFastPath(request: Buffer): Buffer {
  if (readWholeRequest(request) === undefined) throw new Error("the request does not take the fast path");
  return request;
}

/** The same request for Node's parser, which skips an empty line in front of it (RFC 9112, section 2.2). */
export function onFrameworkPath(request: Buffer): Buffer {
  const bytes = Buffer.concat([Buffer.from("\r\n"), request]);
  if (readWholeRequest(bytes) !== undefined) throw new Error("the request takes the fast path");
  return bytes;
}

/** The headers of every plain request, beside its length. */
export function headersWith(key: string): string[] {
  return ["Host: localhost", `Authorization: Bearer ${key}`, "Content-Type: application/json"];
}
