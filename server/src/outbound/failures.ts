import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import type { ExchangeErrorCode } from "./exchangeResult.ts";

/** Why a request failed: a code for programs and one plain phrase for a person. */
export interface Failure {
  code: ExchangeErrorCode;
  message: string;
}

/** A connection that could not be made. Carries no `code` of its own, because undici acts on some of those. */
export class ConnectFailure extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, cause?: unknown) {
    super(failure.message, { cause });
    this.name = "ConnectFailure";
    this.failure = failure;
  }
}

/** Names what went wrong while connecting, before a byte of the request was written. */
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
      return { code: "connect_timeout", message: "the host did not answer the connection" };
    case "ECONNRESET":
    case "EPIPE":
      return { code: "reset", message: "the connection was reset while it was being made" };
    case "ENOTFOUND":
    case "ENODATA":
      return { code: "dns", message: `the host name ${hostname} does not exist` };
    default:
      return isDnsError(error)
        ? { code: "dns", message: `the host name ${hostname} could not be resolved (${code})` }
        : { code: "other", message: `the connection failed (${code})` };
  }
}

/** The scarce resource of this process or machine. */
const shortages: Record<string, string> = {
  EMFILE: "this process has no file descriptors left",
  ENFILE: "this machine has no file descriptors left",
  ENOBUFS: "this machine has no room for network buffers",
  ENOMEM: "this machine has no memory for another connection",
  EADDRNOTAVAIL: "this machine has no free port for another connection",
};

/** Names the shortage that kept a connection from being made; undefined when it was something else. */
function localShortage(error: Error): string | undefined {
  // Several addresses were tried, and each failed.
  const causes = error instanceof AggregateError ? (error.errors as Error[]) : [error];
  for (const cause of causes) {
    const shortage = shortages[errorCode(cause)];
    if (shortage !== undefined) return shortage;
  }
  // A resolver that cannot open a socket or a file says that there is no such name, or no server.
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

/** Names what went wrong between the TCP connection and the end of the TLS handshake. */
export function describeTlsError(error: Error): Failure {
  const code = errorCode(error);
  return { code: "tls", message: certificateFaults[code] ?? `the TLS handshake failed (${code})` };
}

/** Names what went wrong with a request that had a connection. */
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
      // undici's parser takes any three digits for a status, and asserts at the end of the answer that they are at least 100.
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

/** True when the peer closed the connection, which for a kept-alive one may have happened before the request. */
export function isClosedByPeer(error: Error): boolean {
  const code = errorCode(error);
  return (
    code === "ECONNRESET" ||
    code === "EPIPE" ||
    (code === "UND_ERR_SOCKET" && !error.message.startsWith("bad "))
  );
}

function errorCode(error: Error): string {
  // undici's parser errors carry the parser's own code, or none; their name tells them apart.
  if (error.name === "HTTPParserError") return error.name;
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

function isDnsError(error: Error): boolean {
  const syscall = "syscall" in error && typeof error.syscall === "string" ? error.syscall : "";
  return syscall === "getaddrinfo" || syscall.startsWith("query");
}

/** How far the answer had come when it ended. */
type AnswerProgress = "nothing" | "headers" | "body";

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
function describeParserError(error: Error): string {
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
const contradictoryLength =
  "the answer is not valid HTTP: its Content-Length contradicts another header, or is too large";

/**
 * The answer is none to the request that was sent. undici ends the connection at a 100 (Continue) that no `Expect` asked for,
 * though more follows, and takes the other answers below 200 for what they are.
 * @param said undici's message, which begins with "bad".
 */
function describeStrayAnswer(said: string): string {
  return said === "bad upgrade"
    ? "the answer switches to another protocol, which nobody asked for"
    : "the answer begins with 100 Continue, which nobody asked for";
}

const closings: Record<AnswerProgress, string> = {
  nothing: "the connection was closed without an answer",
  headers: "the connection was closed in the middle of the answer's headers",
  body: "the connection was closed in the middle of the answer",
};
