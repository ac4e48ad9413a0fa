import type { FastifyError } from "fastify";
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { ConnectionLimit } from "../connections/connectionLimit.ts";
import type { Handler } from "../connections/pacedConnection.ts";
import type { PacedRequest } from "../connections/pacedRequest.ts";
import { pacedConnection } from "../connections/pacedServer.ts";
import { logFailure, toApiError } from "../contract/errorAnswer.ts";
import { errorHeaders } from "../contract/errors.ts";
import type { KeyOwner, ServerDeps } from "../contract/serverDeps.ts";
import { newRequestId } from "../contract/requestId.ts";
import type { FastAnswer, RouteRecord, WholeRequest } from "../contract/route.ts";
import { checkScope } from "../contract/scope.ts";
import { readHead } from "./readHead.ts";

export interface FastDeps extends Pick<ServerDeps, "log" | "metrics" | "keyOwners"> {
  maxBodyBytes: number;
  connectionLimit: ConnectionLimit;
  /** How long a connection may idle between requests; answers promise it in `Keep-Alive`. */
  keepAliveSeconds: number;
  /** False once the server accepts no more connections: an answer is then the last of its connection. */
  isOpen: () => boolean;
  /** Handles every other request. */
  framework: Handler;
}

type FastRoute = RouteRecord & { fast: NonNullable<RouteRecord["fast"]> };

/** The most bytes of a body that can arrive in one piece. */
const maxPieceBytes = 64 * 1024;

/**
 * Handles plain requests of the routes that have `fast`, if the body arrives in one piece and the key is cached. Every other
 * request goes to the framework, and so does a request for which `fast` returns undefined.
 */
export function createFastHandler(deps: FastDeps, routes: readonly RouteRecord[]): Handler {
  const byPath = fastRoutes(routes);
  const maxBytes = Math.min(deps.maxBodyBytes, maxPieceBytes);
  return (request, response) => {
    const startedAtMs = performance.now();
    const head = readHead(request);
    const route = head && byPath.get(head.path);
    const owner = route && deps.keyOwners.known(head.key);
    if (owner === undefined || head!.bodyBytes > maxBytes || !mayPass(owner, route!, head!.id)) {
      deps.framework(request, response);
      return;
    }
    deps.connectionLimit.noteOwner(request.socket, owner.orgId);
    const call = { deps, route: route!, request, response, startedAtMs };
    request.takeBody(head!.bodyBytes, (body) => {
      if (body === undefined) deps.framework(request, response);
      else answerFast(call, { ...head!, body }, owner.orgId);
    });
  };
}

function fastRoutes(routes: readonly RouteRecord[]): Map<string, FastRoute> {
  const withFast = routes.filter((route): route is FastRoute => route.fast !== undefined);
  return new Map(withFast.map((route) => [route.path.replace(/:[a-z_]+/, ":id"), route]));
}

/** Whether a key may call the route, as far as this needs no lookup in the database. The framework makes the refusals. */
function mayPass({ scope }: KeyOwner, route: FastRoute, id: string): boolean {
  return scope === undefined || checkScope(scope, route.scope, id) === "admitted";
}

/** One request on the fast path. */
interface FastCall {
  deps: FastDeps;
  route: FastRoute;
  request: PacedRequest;
  response: ServerResponse;
  /** Start of the request, by `performance.now()`. */
  startedAtMs: number;
}

/** Answers by the route's `fast`, or passes the request to the framework if `fast` returns undefined. */
function answerFast(call: FastCall, whole: WholeRequest, orgId: string): void {
  const { deps, route, request, response } = call;
  let promised: Promise<FastAnswer> | undefined;
  try {
    promised = route.fast(whole, orgId);
  } catch (error) {
    // Turns a synchronous throw into a rejection, because no caller would catch it.
    promised = Promise.reject(error instanceof Error ? error : new Error(String(error)));
  }
  if (promised === undefined) {
    deps.framework(request, response);
    return;
  }
  const requestId = newRequestId();
  pacedConnection(request.socket)?.answerAfterEnd();
  promised.then(
    (answer) => send(call, requestId, answer),
    (error: FastifyError) => send(call, requestId, errorAnswer(deps, requestId, error)),
  );
}

function errorAnswer({ log }: FastDeps, requestId: string, error: FastifyError): FastAnswer {
  const answer = toApiError(error);
  logFailure(log, { requestId, error, answer });
  return {
    status: answer.status,
    text: JSON.stringify({ error: answer.message }),
    headers: errorHeaders(answer),
  };
}

/**
 * Counts and logs the answer, and writes it to the socket as one string. The response object only emits `finish`: its `writeHead`
 * and `end` would take 3 µs more.
 */
function send(call: FastCall, requestId: string, answer: FastAnswer): void {
  const { deps, route, request, response, startedAtMs } = call;
  const { method, path: routePath } = route;
  const durationMs = performance.now() - startedAtMs;
  deps.metrics.observe(method, routePath, answer.status, durationMs);
  deps.log.request({ id: requestId, method, routePath, caller: null }, answer.status, durationMs);
  const { socket } = request;
  const connection = pacedConnection(socket);
  if (socket.destroyed || connection === undefined) return;
  const bodyBytes = Buffer.byteLength(answer.text);
  const isLast =
    !response.shouldKeepAlive ||
    !deps.isOpen() ||
    connection.hasEnded() ||
    deps.connectionLimit.isOverShare(socket);
  if (isLast) {
    connection.end(answerText(requestId, answer, bodyBytes, "close"));
    return;
  }
  const text = answerText(
    requestId,
    answer,
    bodyBytes,
    `keep-alive\r\nKeep-Alive: timeout=${deps.keepAliveSeconds}`,
  );
  // ASCII has the same bytes in both encodings, and Latin-1 is written faster.
  const hasRoom = socket.write(text, bodyBytes === answer.text.length ? "latin1" : "utf8");
  // Back-pressure: while a client does not read its answers, its next requests are not handled.
  if (hasRoom) response.emit("finish");
  else socket.once("drain", () => response.emit("finish"));
}

/**
 * The text of an answer, with the same headers as the framework would write (RFC 9112, section 4).
 * @param bodyBytes the length of `answer.text` in UTF-8.
 * @param connection the value of the `Connection` header.
 */
function answerText(
  requestId: string,
  { status, text, headers }: FastAnswer,
  bodyBytes: number,
  connection: string,
): string {
  let more = "";
  if (headers !== undefined) for (const [name, value] of headers) more += `${name}: ${value}\r\n`;
  return `${statusLine(status)}x-request-id: ${requestId}\r\nx-content-type-options: nosniff\r\n${more}content-type: application/json; charset=utf-8\r\ncontent-length: ${bodyBytes}\r\nDate: ${httpDate()}\r\nConnection: ${connection}\r\n\r\n${text}`;
}

const statusLines = new Map<number, string>();

function statusLine(status: number): string {
  let line = statusLines.get(status);
  if (line === undefined) {
    line = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    statusLines.set(status, line);
  }
  return line;
}

let dateSecond = 0;
let date = "";

/** The value of the `Date` header (RFC 9110, section 5.6.7), formatted once per second. */
function httpDate(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    date = new Date(second * 1000).toUTCString();
  }
  return date;
}
