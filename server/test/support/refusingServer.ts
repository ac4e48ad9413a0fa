import { createServer, type ListenOptions, type Server } from "node:net";

/**
 * A PostgreSQL server that refuses every connection.
 * @param at where it listens; a free port of this machine by default.
 */
export function refuseAll(
  code: string,
  message: string,
  at: ListenOptions = { port: 0, host: "127.0.0.1" },
): Promise<Server> {
  const body = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`);
  const head = Buffer.alloc(5);
  head.write("E");
  head.writeInt32BE(body.length + 4, 1);
  return new Promise((resolve) => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.end(Buffer.concat([head, body])));
    }).listen(at, () => resolve(server));
  });
}
