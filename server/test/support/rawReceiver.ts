import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";

export interface RawReceiver {
  url: string;
  port: number;
  /** Number of accepted TCP connections, whatever the outcome of a TLS handshake. */
  connections: number;
  /** Complete requests so far, head and body, as text. */
  requests: string[];
  /** Resolves once that many connections have been closed. */
  closed(count: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * A receiver built on sockets, for answers that no HTTP server would give. `answer` is called with the socket of
 * every complete request (a head, and a body of its content-length) and its number, from 1.
 */
export async function startRawReceiver(
  answer: (socket: Socket, number: number) => void,
  tls?: TlsOptions,
): Promise<RawReceiver> {
  const sockets = new Set<Socket>();
  let closedCount = 0;
  let onClose = (): void => undefined;
  const track = (socket: Socket): void => {
    receiver.connections += 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      sockets.delete(socket);
      closedCount += 1;
      onClose();
    });
  };
  const serve = (socket: Socket): void => {
    socket.on("error", () => undefined);
    readRequests(socket, (request) => {
      receiver.requests.push(request);
      answer(socket, receiver.requests.length);
    });
  };
  const server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
  server.on("connection", track);
  server.on("tlsClientError", () => undefined);
  const port = await listen(server);
  const receiver: RawReceiver = {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}/hook`,
    port,
    connections: 0,
    requests: [],
    closed: (count) =>
      new Promise((resolve) => {
        onClose = () => {
          if (closedCount >= count) {
            resolve();
          }
        };
        onClose();
      }),
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) {
          socket.destroy();
        }
        server.close(() => resolve());
      }),
  };
  return receiver;
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
}

function readRequests(socket: Socket, onRequest: (request: string) => void): void {
  let read = "";
  socket.setEncoding("latin1");
  socket.on("data", (chunk) => {
    read += String(chunk);
    for (;;) {
      const headEnd = read.indexOf("\r\n\r\n");
      if (headEnd === -1) {
        return;
      }
      const length = Number(/^content-length: (\d+)$/im.exec(read.slice(0, headEnd))?.[1] ?? 0);
      const end = headEnd + 4 + length;
      if (read.length < end) {
        return;
      }
      const request = read.slice(0, end);
      read = read.slice(end);
      onRequest(request);
    }
  });
}
