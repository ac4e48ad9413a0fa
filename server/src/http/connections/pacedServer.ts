import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http";
import type { Socket } from "node:net";
import { PacedConnection } from "./pacedConnection.ts";

/**
 * An HTTP server that handles one request of a connection at a time, whatever its client pipelines, and whose answers
 * leave in order. Node's server by itself begins every request that a piece of a connection holds: 1,900 in 64 KiB.
 *
 * It leans on three things that Node does not promise: its listener for connections is the server's first, its reader
 * is a connection's first listener for data and may be called with pieces of it, and a connection is ended behind its
 * last answer by `socket.destroySoon`.
 */
export function createPacedServer(options: ServerOptions, handle: RequestListener): Server {
  const server = createServer(options, (request, response) => {
    pacedConnections.get(request.socket)?.begin(request, response);
    handle(request, response);
  });
  const [toParser] = server.listeners("connection") as ((this: Server, socket: Socket) => void)[];
  if (toParser === undefined) throw new Error("the server has no listener for connections");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    toParser.call(server, socket);
    pacedConnections.set(socket, new PacedConnection(socket));
  });
  return server;
}

/** The pace of a connection that Node's parser reads; undefined for any other. */
export function pacedConnection(socket: object): PacedConnection | undefined {
  return pacedConnections.get(socket);
}

const pacedConnections = new WeakMap<object, PacedConnection>();
