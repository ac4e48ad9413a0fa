import { STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { endAndDiscard } from "../connections/endAndDiscard.ts";
import { pacedConnection } from "../connections/pacedServer.ts";
import { newRequestId } from "./requestId.ts";

/**
 * Answers, in the form of every other error, what Node would answer by itself or not at all: an expectation that is
 * not `100-continue`, and CONNECT.
 */
export function answerUnheard(server: Server): void {
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    pacedConnection(request.socket)?.begin(request, response);
    const body = errorBody("the Expect header cannot be met");
    response.writeHead(417, {
      "x-request-id": newRequestId(),
      "x-content-type-options": "nosniff",
      "content-type": "application/json; charset=utf-8",
      "content-length": body.length,
      connection: "close",
    });
    response.end(body);
  });
  server.on("connect", (_request: IncomingMessage, socket: Socket) => {
    socket.on("error", () => socket.destroy());
    refuse(socket, wholeAnswer(404, "not found"));
  });
}

/**
 * What Node's parser refused never became a request; it is answered all the same, behind the answer of the one before
 * it, and the connection closed.
 */
export function refuseConnection(error: Error & { code?: string; reason?: string }, socket: Socket): void {
  const isRefusal = /^(HPE_|ERR_HTTP_)/.test(error.code ?? "");
  if (isRefusal && socket.writable) refuse(socket, wholeAnswer(...refusalOf(error)));
  else socket.destroy();
}

function refuse(socket: Socket, answer: string): void {
  const paced = pacedConnection(socket);
  if (paced === undefined) endAndDiscard(socket, answer);
  else paced.refuse(answer);
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
  // The same code stands for a Transfer-Encoding beside a Content-Length.
  if (code === "HPE_INVALID_TRANSFER_ENCODING" && /invalid/i.test(reason)) {
    return [501, "the only transfer coding is chunked"];
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
