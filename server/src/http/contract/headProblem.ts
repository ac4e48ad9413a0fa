import type { IncomingMessage } from "node:http";
import { ApiError } from "./errors.ts";

/**
 * Why a request that Node's parser let pass is refused by its head, before anything of it is looked at; undefined for
 * one that is not.
 */
export function headProblem({ httpVersion, headers, rawHeaders }: IncomingMessage): ApiError | undefined {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    return new ApiError(505, "the protocol must be HTTP/1.1");
  }
  // RFC 9112, section 3.2.
  if (headers.host === undefined && httpVersion === "1.1") {
    return new ApiError(400, "the Host header is missing");
  }
  const coding = headers["transfer-encoding"];
  // RFC 9112, section 6.1.
  if (coding !== undefined && !/^chunked$/i.test(coding)) {
    return new ApiError(501, "the only transfer coding is chunked");
  }
  return repeatedHeader(rawHeaders);
}

/**
 * Node drops or joins what comes twice, and a proxy in front may have judged the other one; so what the service reads
 * comes once.
 */
function repeatedHeader(rawHeaders: readonly string[]): ApiError | undefined {
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const bit = single.get(rawHeaders[at]!.toLowerCase());
    if (bit === undefined) continue;
    if ((seen & bit) !== 0) return new ApiError(400, `the header ${rawHeaders[at]} comes more than once`);
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
