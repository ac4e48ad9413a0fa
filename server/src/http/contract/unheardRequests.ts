import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { newRequestId } from "./requestId.ts";

/**
 * Answers, in the form of every other error, what Node would answer by itself or not at all: an expectation that is
 * not `100-continue`, and CONNECT.
 */
export function answerUnheard(server: Server): void {
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
    const body = errorBody("the Expect header cannot be met");
    response.writeHead(417, {
      "x-request-id": newRequestId(),
      "content-type": "application/json; charset=utf-8",
      "content-length": body.length,
      connection: "close",
    });
    response.end(body);
  });
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => socket.destroy());
    socket.end(wholeAnswer("404 Not Found", "not found"));
  });
}

/** What Node's parser refused never became a request; it is answered all the same, and the connection closed. */
export function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? (["431 Request Header Fields Too Large", "the headers are too large"] as const)
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? (["408 Request Timeout", "the request took too long to arrive"] as const)
        : (["400 Bad Request", "the request is not valid HTTP"] as const);
  socket.end(wholeAnswer(status, message));
}

function wholeAnswer(status: string, message: string): string {
  const body = errorBody(message);
  return [
    `HTTP/1.1 ${status}`,
    `x-request-id: ${newRequestId()}`,
    "content-type: application/json; charset=utf-8",
    `content-length: ${body.length}`,
    "connection: close",
    "",
    body,
  ].join("\r\n");
}

function errorBody(message: string): string {
  return JSON.stringify({ error: message });
}
