import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { ShortAnswer, WholeRequest } from "../route.ts";
import { keepConnection, type ShortConnection } from "./connection.ts";

/** Answers a request; undefined leaves it to the framework, as long as nothing was done for it. */
export type ShortRoute = (request: WholeRequest, started: StartedRequest) => Promise<ShortAnswer> | undefined;

/** What is known of a request besides what it says. */
export interface StartedRequest {
  requestId: string;
  /** By `performance.now()`. */
  startedAtMs: number;
}

export interface ShortWayDeps {
  /** By path with `:id` for its parameter. */
  routes: ReadonlyMap<string, ShortRoute>;
  /** Milliseconds that a new connection may take to send its first bytes, and that one may idle between requests. */
  firstRequestMs: number;
  idleMs: number;
}

/** The connections that are on the short way. */
export interface ShortWay {
  /** Ends the connections on which no request is under way. */
  closeIdle(): void;
  /** Ends them all. */
  closeAll(): void;
}

/**
 * Answers the requests of `routes` on their connections, without the framework, where they arrive whole and plain;
 * a connection with any other request goes to the server's own parser, with every byte, for the rest of its life.
 * Such an item costs two thirds of Node's time; which way it took cannot be told from its answer.
 */
export function openShortWay(server: Server, deps: ShortWayDeps): ShortWay {
  const [toParser] = server.listeners("connection") as ((this: Server, socket: Socket) => void)[];
  if (toParser === undefined) throw new Error("the server has no listener for connections");
  server.removeAllListeners("connection");
  const connections = new Set<ShortConnection>();
  server.on("connection", (socket: Socket) => {
    const connection = keepConnection(socket, {
      ...deps,
      isOpen: () => server.listening,
      giveUp: () => {
        connections.delete(connection);
        toParser.call(server, socket);
      },
    });
    connections.add(connection);
    socket.once("close", () => connections.delete(connection));
  });
  return {
    closeIdle() {
      for (const connection of connections) if (!connection.isBusy()) connection.close();
    },
    closeAll() {
      for (const connection of connections) connection.close();
    },
  };
}
