import { Server, type ServerOptions } from "node:http";
import type { Socket } from "node:net";
import { type Handler, PacedConnection, type Waiting } from "./pacedConnection.ts";
import { PacedRequest } from "./pacedRequest.ts";

/**
 * An HTTP server that handles one request of a connection at a time, whatever its client pipelines, and whose answers
 * leave in order.
 *
 * It leans on habits of Node's server that its documentation does not promise; pacedServer.test.ts tries each:
 * - the parser hands a request's body to `push`, and discards the rest of one behind its answer by `_dump`;
 * - `httpAllowHalfOpen` keeps the connection of a client that has closed its side;
 * - a connection is ended behind its last answer by `socket.destroySoon`;
 * - the event `finish` of a response frees the connection for the next one, see `../fast/fastHandler.ts`.
 */
export class PacedServer extends Server<typeof PacedRequest> {
  /** Handles requests as a stream. */
  readonly framework: Handler;
  /** Handles every request. */
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
  }
}

/** The pacing of a connection of a {@link PacedServer}; undefined for any other. */
export function pacedConnection(socket: object): PacedConnection | undefined {
  return pacedConnections.get(socket);
}

const pacedConnections = new WeakMap<object, PacedConnection>();
