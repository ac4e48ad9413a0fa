import { Server, type ServerOptions } from "node:http";
import type { Socket } from "node:net";
import { type Handler, PacedConnection, type Waiting } from "./pacedConnection.ts";
import { PacedRequest } from "./pacedRequest.ts";

/** After this time without progress, a connection ends unless the service is working on an answer. */
const maxPauseMs = 60_000;

/**
 * An HTTP server that handles one request of a connection at a time, even if the client pipelines requests, and sends the
 * answers in order.
 *
 * It relies on undocumented behaviour of Node's server; pacedServer.test.ts tests each:
 * - the parser passes a request's body to `push`, and discards the rest of the body after its answer by `_dump`;
 * - `httpAllowHalfOpen` keeps the connection of a client that has closed its side;
 * - Node ends a connection after its last answer by `socket.destroySoon`;
 * - the event `finish` of a response frees the connection for the next response, see `../fast/fastHandler.ts`.
 */
export class PacedServer extends Server<typeof PacedRequest> {
  /** Handles requests through the framework, which reads bodies as streams. */
  readonly framework: Handler;
  /** Handles every request; replaced to add the fast path. */
  handle: Handler;

  constructor(options: ServerOptions, framework: Handler) {
    super({ ...options, IncomingMessage: PacedRequest });
    this.framework = (request, response) => {
      request.toStream();
      framework(request, response);
    };
    this.handle = this.framework;
    Object.assign(this, { httpAllowHalfOpen: true });
    const inAll: Waiting = { count: 0 };
    this.on("connection", (socket: Socket) => {
      pacedConnections.set(socket, new PacedConnection(socket, inAll));
    });
    this.on("request", (request, response) => {
      pacedConnections.get(request.socket)?.begin(request, response, this.handle);
    });
    // Bytes that the client takes are progress: a client that does not read its answer must not keep it in memory.
    this.setTimeout(maxPauseMs, (socket) => {
      if (pacedConnections.get(socket)?.isWorking() !== true) socket.destroy();
    });
  }
}

/** The {@link PacedConnection} of a socket of a {@link PacedServer}; undefined for any other socket. */
export function pacedConnection(socket: object): PacedConnection | undefined {
  return pacedConnections.get(socket);
}

const pacedConnections = new WeakMap<object, PacedConnection>();
