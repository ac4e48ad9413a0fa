import { STATUS_CODES, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { newRequestId } from "../contract/requestId.ts";
import type { PacedRequest } from "./pacedRequest.ts";
import { pacedConnection } from "./pacedServer.ts";

/**
 * Answers, in the usual form of errors, requests that Node's server would answer by itself or not at all: an expectation other
 * than `100-continue`, and CONNECT.
 */
export function answerProtocolErrors(server: Server): void {
  server.on("checkExpectation", (request: PacedRequest, response: ServerResponse) => {
    pacedConnection(request.socket)?.begin(request, response, refuseExpectation);
  });
  server.on("connect", (_request, socket: Socket) => {
    socket.on("error", () => socket.destroy());
    pacedConnection(socket)?.refuse(wholeAnswer(404, "not found"));
  });
}

function refuseExpectation(_request: PacedRequest, response: ServerResponse): void {
  const body = errorBody("the only supported value of the Expect header is 100-continue");
  response.writeHead(417, {
    "x-request-id": newRequestId(),
    "x-content-type-options": "nosniff",
    "content-type": "application/json; charset=utf-8",
    "content-length": body.length,
    connection: "close",
  });
  response.end(body);
}

/**
 * Answers bytes that Node's parser refused, so that no request exists: after the answers to the requests before them. Then closes
 * the connection.
 */
export function refuseConnection(error: Error & { code?: string; reason?: string }, socket: Socket): void {
  const connection = pacedConnection(socket);
  const isRefusal = /^(HPE_|ERR_HTTP_)/.test(error.code ?? "");
  if (connection === undefined || !isRefusal || !socket.writable) {
    socket.destroy();
    return;
  }
  // Reading is paused while requests wait, so a timeout is not the client's fault.
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && connection.hasWaiting()) return;
  connection.refuse(wholeAnswer(...refusalOf(error)));
}

const refusals: Record<string, [status: number, message: string]> = {
  HPE_HEADER_OVERFLOW: [431, "the headers are too large"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "the request took too long to arrive"],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, "the chunk extensions are larger than the limit"],
  HPE_PAUSED_H2_UPGRADE: [505, "the protocol must be HTTP/1.1"],
};

function refusalOf({ code = "", reason = "" }: { code?: string; reason?: string }): [number, string] {
  if (code === "HPE_INVALID_VERSION" && reason === "Invalid HTTP version") {
    return [505, "the protocol must be HTTP/1.1"];
  }
  // The parser uses the same code for a Transfer-Encoding together with a Content-Length.
  if (code === "HPE_INVALID_TRANSFER_ENCODING" && /invalid/i.test(reason)) {
    return [501, "the only supported Transfer-Encoding is chunked"];
  }
  return refusals[code] ?? [400, "the request is not valid HTTP"];
}

function wholeAnswer(status: number, message: string): string {
  const body = errorBody(message);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `x-request-id: ${newRequestId()}`,
    "x-content-type-options: nosniff",
    "content-type: application/json; charset=utf-8",
    `content-length: ${body.length}`,
    `date: ${new Date().toUTCString()}`,
    "connection: close",
    "",
    body,
  ].join("\r\n");
}

function errorBody(message: string): string {
  return JSON.stringify({ error: message });
}
