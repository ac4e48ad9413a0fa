import { readHead } from "../../src/http/fast/readHead.ts";

export const plainId = "0192f1c3a5b87abc8def0123456789ab";
export const plainKey = `ak_live_${"0f".repeat(32)}`;
export const plainHeaders: readonly string[] = headersWith(plainKey);

/** A request's parts, for bytes that a client would not send. */
export interface Parts {
  line?: string;
  headers?: readonly string[];
  /** Further headers, in front of the content length. */
  more?: readonly string[];
  /** The header line with the content length; null for none. */
  length?: string | null;
  body?: string | Buffer;
  /** Bytes after the body. */
  behind?: string;
}

/** The bytes of a request; missing parts have valid values. Text is Latin-1, except UTF-8 in the body. */
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

/**
 * Returns the bytes unchanged.
 * @throws {Error} when the request would not take the fast path if it arrived in one piece.
 */
export function onFastPath(request: Buffer): Buffer {
  if (!takesFastPath(request)) throw new Error("the request does not take the fast path");
  return request;
}

/** The same request for the framework: a meaningless header that occurs twice keeps it off the fast path. */
export function onFrameworkPath(request: Buffer): Buffer {
  const behindLine = request.indexOf("\r\n") + 2;
  const twice = Buffer.from("X-Repeated: 1\r\n".repeat(2));
  const bytes = Buffer.concat([request.subarray(0, behindLine), twice, request.subarray(behindLine)]);
  if (takesFastPath(bytes)) throw new Error("the request takes the fast path");
  return bytes;
}

function takesFastPath(request: Buffer): boolean {
  const bodyAt = request.indexOf("\r\n\r\n") + 4;
  const [line, ...headers] = request.toString("latin1", 0, bodyAt - 4).split("\r\n");
  const [method, url, version] = line!.split(" ");
  const rawHeaders = headers.flatMap((header) => {
    const colon = header.indexOf(":");
    return [header.slice(0, colon), header.slice(colon + 1).trim()];
  });
  const head = { httpVersion: version!.replace("HTTP/", ""), method, url, rawHeaders };
  return readHead({ ...head, headers: headersOf(rawHeaders) })?.bodyBytes === request.length - bodyAt;
}

/** Headers by name as Node gives them; only one value of a repeated header. */
export function headersOf(rawHeaders: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = 0; at < rawHeaders.length; at += 2)
    headers[rawHeaders[at]!.toLowerCase()] = rawHeaders[at + 1]!;
  return headers;
}

/** The headers of every plain request, except its length. */
export function headersWith(key: string): string[] {
  return ["Host: localhost", `Authorization: Bearer ${key}`, "Content-Type: application/json"];
}
