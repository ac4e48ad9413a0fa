import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import type { ExchangeErrorCode } from "./exchangeResult.ts";

/** Why a request failed: a code for programs and a short phrase for people. */
export interface Failure {
  code: ExchangeErrorCode;
  message: string;
}

/** An error of connecting. It has no `code` property, because undici acts on some codes. */
export class ConnectFailure extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, cause?: unknown) {
    super(failure.message, { cause });
    this.name = "ConnectFailure";
    this.failure = failure;
  }
}

/** Describes an error while connecting, before a byte of the request was written. */
export function describeConnectError(error: Error, hostname: string): Failure {
  const code = errorCode(error);
  const shortage = localShortage(error);
  if (shortage !== undefined) return { code: "local", message: shortage };
  switch (code) {
    case "ECONNREFUSED":
      return { code: "connect_refused", message: "connection refused" };
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return { code: "connect_refused", message: "the host cannot be reached" };
    case "ETIMEDOUT":
      return { code: "connect_timeout", message: "the host did not accept the connection in time" };
    case "ECONNRESET":
    case "EPIPE":
      return { code: "reset", message: "the connection was reset before it was established" };
    case "ENOTFOUND":
    case "ENODATA":
      return { code: "dns", message: `the host name ${hostname} does not exist` };
    default:
      return isDnsError(error)
        ? { code: "dns", message: `the host name ${hostname} could not be resolved (${code})` }
        : { code: "other", message: `the connection failed (${code})` };
  }
}

/** The resource of this process or machine that ran out, by error code. */
const shortages: Record<string, string> = {
  EMFILE: "this process has no file descriptors left",
  ENFILE: "this machine has no file descriptors left",
  ENOBUFS: "this machine has no memory for network buffers",
  ENOMEM: "this machine has no memory for another connection",
  EADDRNOTAVAIL: "this machine has no free port for another connection",
};

/** Describes the missing resource that prevented a connection; undefined for other causes. */
function localShortage(error: Error): string | undefined {
  // An AggregateError means that several addresses were tried and all failed.
  const causes = error instanceof AggregateError ? (error.errors as Error[]) : [error];
  for (const cause of causes) {
    const shortage = shortages[errorCode(cause)];
    if (shortage !== undefined) return shortage;
  }
  // If the resolver cannot open a socket or a file, it reports that the name or the server does not exist.
  return isDnsError(error) && isOutOfDescriptors() ? shortages["EMFILE"] : undefined;
}

function isOutOfDescriptors(): boolean {
  try {
    closeSync(openSync(devNull, "r"));
    return false;
  } catch {
    return true;
  }
}

const certificateFaults: Record<string, string> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate is self-signed",
  CERT_HAS_EXPIRED: "the certificate has expired",
  CERT_NOT_YET_VALID: "the certificate is not valid yet",
  CERT_REVOKED: "the certificate has been revoked",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host name",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the certificate's chain is incomplete",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the certificate's issuer is not trusted",
  UNABLE_TO_GET_ISSUER_CERT: "the certificate's issuer is not trusted",
  ERR_SSL_WRONG_VERSION_NUMBER: "the port does not speak TLS",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "the port does not speak TLS",
  ECONNRESET: "the connection was closed during the TLS handshake",
};

/** Describes an error between the TCP connection and the end of the TLS handshake. */
export function describeTlsError(error: Error): Failure {
  const code = errorCode(error);
  return { code: "tls", message: certificateFaults[code] ?? `the TLS handshake failed (${code})` };
}

/** Describes an error of a request that had a connection. */
export function describeExchangeError(error: Error, progress: AnswerProgress): Failure {
  if (error instanceof ConnectFailure) return error.failure;
  const code = errorCode(error);
  switch (code) {
    case "HTTPParserError":
      return { code: "bad_response", message: describeParserError(error) };
    case "UND_ERR_HEADERS_OVERFLOW":
      return { code: "bad_response", message: "the headers of the answer are too large" };
    case "UND_ERR_SOCKET":
      return error.message.startsWith("bad ")
        ? { code: "bad_response", message: describeStrayAnswer(error.message) }
        : closed(progress);
    case "UND_ERR_RES_CONTENT_LENGTH_MISMATCH":
      return progress === "body" ? closed(progress) : { code: "bad_response", message: contradictoryLength };
    case "ECONNRESET":
    case "EPIPE":
      return closed(progress);
    case "ETIMEDOUT":
      return { code: "timeout", message: "the host stopped answering" };
    case "UND_ERR_DESTROYED":
    case "UND_ERR_CLOSED":
      return shuttingDown;
    case "ERR_ASSERTION":
      // undici's parser accepts any three digits as a status, and asserts at the end of the answer that it is at least 100.
      return progress === "headers"
        ? { code: "bad_response", message: "the answer is not valid HTTP: its status is below 100" }
        : { code: "other", message: `the request failed (${code})` };
    case "UND_ERR_INVALID_ARG":
      return { code: "other", message: `the request cannot be sent (${error.message})` };
    default:
      return { code: "other", message: `the request failed (${code})` };
  }
}

export const shuttingDown: Failure = { code: "local", message: "the service is shutting down" };

function closed(progress: AnswerProgress): Failure {
  return { code: "reset", message: closings[progress] };
}

/** True if the peer closed the connection. On a reused connection, this may have happened before the request was sent. */
export function isClosedByPeer(error: Error): boolean {
  const code = errorCode(error);
  return (
    code === "ECONNRESET" ||
    code === "EPIPE" ||
    (code === "UND_ERR_SOCKET" && !error.message.startsWith("bad "))
  );
}

function errorCode(error: Error): string {
  // undici's parser errors have the parser's own code or none, so they are recognized by name.
  if (error.name === "HTTPParserError") return error.name;
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

function isDnsError(error: Error): boolean {
  const syscall = "syscall" in error && typeof error.syscall === "string" ? error.syscall : "";
  return syscall === "getaddrinfo" || syscall.startsWith("query");
}

/** Which part of the answer had arrived when the exchange ended. */
type AnswerProgress = "nothing" | "headers" | "body";

/** Substrings of undici's parser errors with their meaning; the first substring that the message contains applies. */
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

/** Describes for people why undici could not parse an answer. */
function describeParserError(error: Error): string {
  if (isTlsRecord((error as { data?: unknown }).data)) {
    return "the port speaks TLS: the URL has to begin with https://";
  }
  const found = parserFaults.find(([said]) => error.message.includes(said));
  const why = found === undefined ? "" : `: ${found[1]}`;
  return `the answer is not valid HTTP${why}`;
}

/** The first two bytes of a TLS record: its type and the major version. */
const tlsBeginnings = ["\u0015\u0003", "\u0016\u0003"];

/** Whether the data is a TLS alert or handshake record, which TLS servers send to a client that does not use TLS. */
function isTlsRecord(data: unknown): boolean {
  return typeof data === "string" && tlsBeginnings.some((bytes) => data.startsWith(bytes));
}

/** Two different lengths, a length together with chunked encoding, or a length that is too large. */
const contradictoryLength =
  "the answer is not valid HTTP: its Content-Length contradicts another header, or is too large";

/**
 * Describes an answer that does not belong to the request. undici ends the connection at a 100 (Continue) that no `Expect` asked
 * for, though the final answer follows; it handles other interim answers (below 200) correctly.
 * @param said undici's message, which begins with "bad".
 */
function describeStrayAnswer(said: string): string {
  return said === "bad upgrade"
    ? "the answer switches to another protocol, which the request did not ask for"
    : "the answer begins with 100 Continue, which the request did not ask for";
}

const closings: Record<AnswerProgress, string> = {
  nothing: "the connection was closed without an answer",
  headers: "the connection was closed in the middle of the answer's headers",
  body: "the connection was closed in the middle of the answer",
};
