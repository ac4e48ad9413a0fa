import type { IncomingMessage } from "node:http";
import { ApiError } from "./errors.ts";

/**
 * The error for a request that Node's parser accepted but whose head is refused, before anything else of it is read; undefined if
 * the head is accepted.
 */
export function headProblem(request: IncomingMessage): ApiError | undefined {
  const { httpVersion, headers, rawHeaders } = request;
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    return new ApiError(505, "the protocol must be HTTP/1.1");
  }
  // HTTP/1.1 requires Host (RFC 9112, section 3.2).
  if (headers.host === undefined && httpVersion === "1.1") {
    return new ApiError(400, "the Host header is missing");
  }
  if (headers.host !== undefined && !isHost(headers.host)) {
    return new ApiError(400, "the Host header must be a host name or an address, with or without a port");
  }
  if (isFramingFaulty(request)) {
    return new ApiError(400, "HTTP/1.0 does not allow Transfer-Encoding");
  }
  const coding = headers["transfer-encoding"];
  // An unknown transfer coding gets 501 (RFC 9112, section 6.1).
  if (coding !== undefined && !/^chunked$/i.test(coding)) {
    return new ApiError(501, "the only supported Transfer-Encoding is chunked");
  }
  return repeatedHeader(rawHeaders);
}

/**
 * Whether a request of HTTP/1.0 has a transfer coding. The end of its body is then not known for certain, so that the connection
 * has to close (RFC 9112, section 6.1).
 */
export function isFramingFaulty({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === "1.0" && headers["transfer-encoding"] !== undefined;
}

/** The form `uri-host [ ":" port ]` (RFC 9110, section 7.2; RFC 3986, section 3.2.2). The host may be empty. */
const hostPattern =
  /^(?:(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*|\[[0-9A-Fa-f:.]+\]|\[v[0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+\])(?::[0-9]*)?$/;

/** Whether a value is valid for the header `Host`. */
export function isHost(value: string): boolean {
  return hostPattern.test(value);
}

/**
 * The error for a repeated header. Node drops or joins repeated headers, and a proxy in front may have checked the other one, so
 * headers that the service reads must come once.
 */
function repeatedHeader(rawHeaders: readonly string[]): ApiError | undefined {
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const bit = single.get(rawHeaders[at]!.toLowerCase());
    if (bit === undefined) continue;
    if ((seen & bit) !== 0) return new ApiError(400, `the header ${rawHeaders[at]} is repeated`);
    seen |= bit;
  }
  return undefined;
}

const single = new Map(
  [
    "host",
    "authorization",
    "content-type",
    "idempotency-key",
    "x-session-token",
    "x-event-type",
    "x-correlation-id",
    "x-ordering-key",
    "claim-id",
    "stripe-signature",
  ].map((name, index) => [name, 1 << index]),
);
