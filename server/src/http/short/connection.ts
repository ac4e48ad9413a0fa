import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { newRequestId } from "../requestId.ts";
import type { ShortAnswer } from "../route.ts";
import { refuseConnection } from "../unheardRequests.ts";
import type { ShortWayDeps } from "./shortWay.ts";
import { readWholeRequest } from "./wholeRequest.ts";

/** How much later than promised an idle connection ends, for requests that are on their way; Node's own number. */
const idleBufferMs = 1_000;

/** One connection on the short way. */
export interface ShortConnection {
  /** Whether a request is under way, or an answer that its client has not taken yet. */
  isBusy(): boolean;
  close(): void;
}

export interface ConnectionDeps extends ShortWayDeps {
  /** Whether the server takes connections; when it does not, an answer is the connection's last. */
  isOpen(): boolean;
  /** Takes the connection over; what was read and not answered is unread again. */
  giveUp(): void;
}

/** Answers whole requests on `socket`, one at a time, until one comes that is not for the short way. */
export function keepConnection(socket: Socket, deps: ConnectionDeps): ShortConnection {
  let isBusy = false;
  /** What came while a request was under way: its client pipelines, which is for the parser. */
  let early: Buffer | undefined;
  let hasEnded = false;

  function onData(piece: Buffer): void {
    if (isBusy) {
      early = early === undefined ? piece : Buffer.concat([early, piece]);
      socket.pause();
      return;
    }
    const request = readWholeRequest(piece);
    const route = request && deps.routes.get(request.path);
    const startedAtMs = performance.now();
    const requestId = newRequestId();
    const answer = request && route?.(request, { requestId, startedAtMs });
    if (answer === undefined) {
      giveUp(piece);
      return;
    }
    isBusy = true;
    void answer.then((given) => send(requestId, given));
  }

  function send(requestId: string, answer: ShortAnswer): void {
    isBusy = false;
    if (socket.destroyed) return;
    const isLast = !deps.isOpen() || hasEnded;
    const hasRoom = socket.write(answerText(requestId, answer, isLast ? "close" : keepAlive(deps.idleMs)));
    if (isLast) endDeaf();
    else if (early !== undefined) giveUp(early);
    else {
      idleFrom(deps.idleMs + idleBufferMs);
      // A client that does not read its answers makes no more of them.
      if (!hasRoom) socket.pause().once("drain", () => socket.resume());
    }
  }

  /** Traffic restarts the timer; another one for each answer would be garbage that outlives its time. */
  function idleFrom(limitMs: number): void {
    if (socket.timeout !== limitMs) socket.setTimeout(limitMs);
  }

  /** What still comes is thrown away: it must do nothing, as it cannot be answered. */
  function endDeaf(): void {
    socket.off("data", onData).resume().end();
  }

  function giveUp(unanswered: Buffer): void {
    socket.setTimeout(0);
    socket.off("data", onData).off("end", onEnd).off("error", onError).off("timeout", onTimeout);
    socket.unshift(unanswered);
    deps.giveUp();
    socket.resume();
  }

  function onEnd(): void {
    hasEnded = true;
    if (!isBusy) socket.end();
  }

  function onError(): void {
    socket.destroy();
  }

  function onTimeout(): void {
    if (isBusy) return;
    if (socket.bytesRead > 0) {
      socket.destroy();
      return;
    }
    refuseConnection(Object.assign(new Error("idle"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), socket);
    socket.destroySoon();
  }

  socket.on("data", onData).on("end", onEnd).on("error", onError).on("timeout", onTimeout);
  socket.setTimeout(deps.firstRequestMs);
  return { isBusy: () => isBusy || socket.writableLength > 0, close: () => socket.destroy() };
}

function keepAlive(idleMs: number): string {
  return `keep-alive\r\nKeep-Alive: timeout=${Math.floor(idleMs / 1000)}`;
}

/** The bytes that the framework would send, header by header (RFC 9112, section 4). */
function answerText(requestId: string, { status, text, header }: ShortAnswer, connection: string): string {
  const more = header === undefined ? "" : `${header[0]}: ${header[1]}\r\n`;
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nx-request-id: ${requestId}\r\n${more}content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(text)}\r\nDate: ${httpDate()}\r\nConnection: ${connection}\r\n\r\n${text}`;
}

let dateSecond = 0;
let date = "";

/** RFC 9110, section 5.6.7; formatted once a second. */
function httpDate(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    date = new Date(second * 1000).toUTCString();
  }
  return date;
}
