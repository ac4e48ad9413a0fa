import type { Socket } from "node:net";
import { endAndDiscard } from "../connections/endAndDiscard.ts";
import { newRequestId } from "../contract/requestId.ts";
import type { FastAnswer } from "../contract/route.ts";
import { refuseConnection } from "../contract/unheardRequests.ts";
import type { FastPathDeps } from "./fastPath.ts";
import { createRequestReader } from "./wholeRequest.ts";
import { writeAnswer } from "./writeAnswer.ts";

/** How much later than promised an idle connection ends, for requests that are on their way; Node's own number. */
const idleBufferMs = 1_000;

/** One connection on the fast path. */
export interface FastConnection {
  /** Whether a request is under way, or an answer that its client has not taken yet. */
  isBusy(): boolean;
  /** Ends the connection if it has been quiet for too long at `nowMs` of the monotonic clock. */
  endIfQuiet(nowMs: number): void;
  close(): void;
}

export interface ConnectionDeps extends FastPathDeps {
  /** Whether the server takes connections; when it does not, an answer is the connection's last. */
  isOpen(): boolean;
  /** Takes the connection over; what was read and not answered is unread again. */
  giveUp(): void;
}

/** Answers whole requests on `socket`, one at a time, until one comes that is not for the fast path. */
export function keepConnection(socket: Socket, deps: ConnectionDeps): FastConnection {
  const readRequest = createRequestReader();
  const noteOwner = createOwnerNote(socket, deps);
  const keepAlive = `keep-alive\r\nKeep-Alive: timeout=${Math.floor(deps.idleMs / 1000)}`;
  let isBusy = false;
  let quietSinceMs = performance.now();
  /** Bytes that arrived while a request was under way: pipelined requests for Node's parser. */
  let early: Buffer | undefined;
  let hasEnded = false;

  function onData(piece: Buffer): void {
    if (isBusy) {
      early = early === undefined ? piece : Buffer.concat([early, piece]);
      socket.pause();
      return;
    }
    const startedAtMs = performance.now();
    const request = readRequest(piece);
    const route = request && deps.routes.get(request.path);
    if (request === undefined || route === undefined) {
      giveUp(piece);
      return;
    }
    const requestId = newRequestId();
    isBusy = true;
    const isTaken = route(request, { requestId, startedAtMs, noteOwner }, (answer) => {
      if (answer !== undefined) send(requestId, answer);
      else if (!socket.destroyed) giveUp(early === undefined ? piece : Buffer.concat([piece, early]));
    });
    if (!isTaken) giveUp(piece);
  }

  function send(requestId: string, answer: FastAnswer): void {
    isBusy = false;
    if (socket.destroyed) return;
    const isLast = !deps.isOpen() || hasEnded || deps.connectionLimit.isOverShare(socket);
    quietSinceMs = performance.now();
    const hasRoom = writeAnswer(socket, requestId, answer, isLast ? "close" : keepAlive);
    if (isLast) endDeaf();
    else if (early !== undefined) giveUp(early);
    // Back-pressure: a client that does not read its answers is not read from.
    else if (!hasRoom) socket.pause().once("drain", goOn);
  }

  function goOn(): void {
    quietSinceMs = performance.now();
    socket.resume();
  }

  /** Later bytes are discarded, because they cannot be answered. */
  function endDeaf(): void {
    socket.off("data", onData);
    endAndDiscard(socket);
  }

  function giveUp(unanswered: Buffer): void {
    socket.off("data", onData).off("end", onEnd).off("error", onError);
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

  socket.on("data", onData).on("end", onEnd).on("error", onError);
  return {
    isBusy: () => isBusy || socket.writableLength > 0,
    endIfQuiet(nowMs) {
      if (!isBusy) endOverdue(socket, nowMs - quietSinceMs, deps);
    },
    close: () => socket.destroy(),
  };
}

/** Requests of one connection have one owner, as a rule. */
function createOwnerNote(socket: Socket, { connectionLimit }: FastPathDeps): (owner: string) => void {
  let last: string | undefined;
  return (owner) => {
    if (owner === last) return;
    last = owner;
    connectionLimit.noteOwner(socket, owner);
  };
}

function endOverdue(socket: Socket, quietMs: number, limits: FastPathDeps): void {
  if (socket.bytesRead > 0) {
    if (quietMs > limits.idleMs + idleBufferMs) socket.destroy();
  } else if (quietMs > limits.firstRequestMs) {
    refuseConnection(Object.assign(new Error("idle"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), socket);
  }
}
