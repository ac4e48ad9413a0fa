import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { ConnectionLimit } from "../connections/connectionLimit.ts";
import type { FastAnswer, WholeRequest } from "../contract/route.ts";
import { keepConnection, type FastConnection } from "./connection.ts";

/**
 * Answers a request, later, through `give`; false leaves it to the framework, as does undefined for an answer, as
 * long as nothing was done for it. Never throws, and gives once.
 */
export type FastRoute = (
  request: WholeRequest,
  started: StartedRequest,
  give: (answer: FastAnswer | undefined) => void,
) => boolean;

/** Facts of a request beside its content. */
export interface StartedRequest {
  requestId: string;
  /** By `performance.now()`. */
  startedAtMs: number;
  /** Told whose the request is, for the share of connections. */
  noteOwner: (owner: string) => void;
}

export interface FastPathDeps {
  /** By path with `:id` for its parameter. */
  routes: ReadonlyMap<string, FastRoute>;
  /** Milliseconds that a new connection may take to send its first bytes, and that one may idle between requests. */
  firstRequestMs: number;
  idleMs: number;
  connectionLimit: ConnectionLimit;
}

/** The connections that are on the fast path. */
export interface FastPath {
  /** Whether a request of the connection is under way; undefined when it is not on the fast path. */
  isBusy(socket: Socket): boolean | undefined;
  /** Ends the connections on which no request is under way. */
  closeIdle(): void;
  /** Ends them all. */
  closeAll(): void;
}

/**
 * Answers the requests of `routes` on their connections, without the framework, where they arrive whole and plain;
 * a connection with any other request goes to the server's own parser, with every byte, for the rest of its life.
 * Such an item costs two thirds of Node's time; its answer does not show which path it took.
 */
export function openFastPath(server: Server, deps: FastPathDeps): FastPath {
  const [toParser] = server.listeners("connection") as ((this: Server, socket: Socket) => void)[];
  if (toParser === undefined) throw new Error("the server has no listener for connections");
  server.removeAllListeners("connection");
  const connections = new Map<Socket, FastConnection>();
  const sweep = setInterval(() => endQuiet(connections), lookEveryMs(deps));
  sweep.unref();
  server.once("close", () => clearInterval(sweep));
  server.on("connection", (socket: Socket) => {
    const connection = keepConnection(socket, {
      ...deps,
      isOpen: () => server.listening,
      giveUp: () => {
        connections.delete(socket);
        toParser.call(server, socket);
      },
    });
    connections.set(socket, connection);
    socket.once("close", () => connections.delete(socket));
  });
  return {
    isBusy: (socket) => connections.get(socket)?.isBusy(),
    closeIdle() {
      for (const connection of connections.values()) if (!connection.isBusy()) connection.close();
    },
    closeAll() {
      for (const connection of connections.values()) connection.close();
    },
  };
}

/** One timer for all: a timer of each connection, set anew with each piece, took a fiftieth of an item's time. */
function endQuiet(connections: ReadonlyMap<Socket, FastConnection>): void {
  const nowMs = performance.now();
  for (const connection of connections.values()) connection.endIfQuiet(nowMs);
}

const maxLateMs = 1_000;

/** How late a quiet connection may end: an eighth of what it is allowed. */
function lookEveryMs({ firstRequestMs, idleMs }: FastPathDeps): number {
  return Math.min(maxLateMs, firstRequestMs / 8, idleMs / 8);
}
