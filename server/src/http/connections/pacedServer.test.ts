import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { type Pipeline, pipeline } from "../../../test/support/pipelines.ts";
import { until } from "../../../test/support/until.ts";
import type { Handler } from "./pacedConnection.ts";
import { pacedConnection, PacedServer } from "./pacedServer.ts";
import { refuseConnection } from "./protocolErrors.ts";

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

interface Started {
  server: PacedServer;
  port: number;
  /** The server's sockets, in the order of their connections. */
  sockets: Socket[];
}

async function start(framework: Handler, options = {}): Promise<Started> {
  const server = new PacedServer(options, framework);
  const sockets: Socket[] = [];
  server.on("connection", (socket: Socket) => sockets.push(socket));
  server.on("clientError", refuseConnection);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { server, sockets, port: (server.address() as AddressInfo).port };
}

/** A handler that answers nothing until `release` is called. Then it answers all waiting and all later requests at once. */
function held(): { handler: Handler; begun: () => number; release: () => void } {
  let begun = 0;
  let isHeld = true;
  const waiting: (() => void)[] = [];
  return {
    handler(_request, response) {
      begun++;
      if (isHeld) waiting.push(() => response.end("ok"));
      else response.end("ok");
    },
    begun: () => begun,
    release() {
      isHeld = false;
      for (const answer of waiting) answer();
    },
  };
}

test("pipelined requests that are answered without I/O are handled in separate turns of the event loop", async () => {
  const turns: number[] = [];
  let turn = 0;
  const { port } = await start((_request, response) => {
    turns.push(turn);
    response.end("ok");
  });
  await pipeline(port, get.repeat(20));
  while (turns.length < 20) {
    await new Promise((resolve) => setImmediate(resolve));
    turn++;
  }
  expect(new Set(turns).size, "turns of the event loop that handled one request each").toBe(20);
});

test("the service works on an answer until it is complete, or until the client has to read some of it first", async () => {
  const { handler, begun, release } = held();
  const whole = await start(handler);
  await pipeline(whole.port, get);
  await until(begun);
  expect(pacedConnection(whole.sockets[0]!)!.isWorking()).toBe(true);
  release();
  expect(pacedConnection(whole.sockets[0]!)!.isWorking()).toBe(false);

  const piece = Buffer.alloc(1024 * 1024);
  const inPieces = await start((_request, response) => {
    // More than the buffers of a connection hold.
    for (let count = 0; count < 40; count++) response.write(piece);
  });
  const client = await pipeline(inPieces.port, get);
  client.socket.pause();
  await until(() => inPieces.sockets[0]!.writableLength > 0);
  expect(pacedConnection(inPieces.sockets[0]!)!.isWorking()).toBe(false);
});

test("a client that takes no byte of its answer is disconnected, and one that waits for its answer is not", async () => {
  const { handler, begun, release } = held();
  const piece = Buffer.alloc(40 * 1024 * 1024);
  const { server, port, sockets } = await start((request, response) => {
    if (request.url === "/large") response.end(piece);
    else handler(request, response);
  });
  expect(server.timeout).toBe(60_000);
  server.timeout = 200;
  const waiting = await pipeline(port, get);
  await until(begun);
  const deaf = await pipeline(port, get.replace("/", "/large"));
  deaf.socket.pause();
  await until(() => sockets[1]?.destroyed === true);
  expect(sockets[0]!.destroyed).toBe(false);
  release();
  await until(() => waiting.statuses().length === 1);
});

test("a connection is not read while many of its pipelined requests wait, and all of them are answered", async () => {
  const { handler, begun, release } = held();
  const { port, sockets } = await start(handler);
  const client = await pipeline(port, get.repeat(2_000));
  await until(begun, (count) => count === 1);
  for (let count = 0; count < 100; count++) client.socket.write(get.repeat(400));
  // An answer on a second connection proves that the server has had time to read the first connection.
  const other = await pipeline(port, get);
  await until(begun, (count) => count === 2);
  expect(sockets[0]!.bytesRead).toBeLessThan(400_000);
  expect(begun()).toBe(2);
  release();
  await until(
    () => client.statuses().length,
    (length) => length === 42_000,
    60_000,
  );
  expect(other.statuses()).toEqual([200]);
});

test("waiting pipelined requests are bounded over all connections, and another connection still finds room", async () => {
  const { handler, begun, release } = held();
  const { port } = await start(handler);
  const tiny = "GET / HTTP/1.1\r\nHost:\r\n\r\n".repeat(2_500);
  const clients: Pipeline[] = [];
  for (let count = 1; count <= 8; count++) {
    clients.push(await pipeline(port, tiny));
    await until(begun, (handled) => handled === count);
  }
  const modest = await pipeline(port, get.repeat(3));
  await until(begun, (count) => count === 9);
  release();
  for (const client of clients) client.socket.on("end", () => client.socket.end());
  const last = clients.at(-1)!;
  await last.closed;
  // Requests that found no room were not begun, so that their client can send them again on another connection.
  expect(last.statuses().length).toBeLessThan(2_500);
  expect(new Set(last.statuses())).toEqual(new Set([200]));
  await until(modest.statuses, (statuses) => statuses.length === 3);
  await until(clients[0]!.statuses, (statuses) => statuses.length === 2_500, 60_000);
  const after = await pipeline(port, tiny);
  await until(after.statuses, (statuses) => statuses.length === 2_500, 60_000);
});

test("an answer before the end of the body keeps the connection if at most 64 KiB of the body are missing", async () => {
  const urls: (string | undefined)[] = [];
  const { port } = await start((request, response) => {
    urls.push(request.url);
    response.end("ok");
  });
  const early = await pipeline(port, "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n");
  await until(early.statuses, (statuses) => statuses.length === 1);
  early.socket.write(`${"x".repeat(60_000)}GET /2 HTTP/1.1\r\nHost: x\r\n\r\n`);
  await until(early.statuses, (statuses) => statuses.length === 2);
  const late = await pipeline(port, "POST /3 HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\n");
  late.socket.on("end", () => late.socket.end());
  await late.closed;
  expect(late.statuses()).toEqual([200]);
  expect(urls).toEqual(["/1", "/2", "/3"]);
});

test("the body of a waiting request is read only when the request's turn comes", async () => {
  let first: (() => void) | undefined;
  const bodies: number[] = [];
  const { port, sockets } = await start((request, response) => {
    if (request.url === "/") {
      first = () => void response.end("ok");
      return;
    }
    let bytes = 0;
    request.on("data", (piece: Buffer) => (bytes += piece.length));
    request.on("end", () => {
      bodies.push(bytes);
      response.end("ok");
    });
  });
  const bodyBytes = 8 * 1024 * 1024;
  const client = await pipeline(
    port,
    Buffer.concat([
      Buffer.from(`${get}POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: ${bodyBytes}\r\n\r\n`),
      Buffer.alloc(bodyBytes, 0x20),
    ]),
  );
  await until(
    () => first,
    (found) => found !== undefined,
  );
  const other = await pipeline(port, "GET /other HTTP/1.1\r\nHost: x\r\n\r\n");
  await until(other.statuses, (statuses) => statuses.length === 1);
  expect(sockets[0]!.bytesRead).toBeLessThan(bodyBytes / 2);
  first!();
  await until(client.statuses, (statuses) => statuses.length === 2);
  expect(bodies).toEqual([0, bodyBytes]);
});

test("a connection that sends nothing gets 408 after the limit, and is closed even if the client does not close it", async () => {
  const options = { headersTimeout: 50, requestTimeout: 50, connectionsCheckingInterval: 20 };
  const { port, sockets } = await start(() => undefined, options);
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  let text = "";
  socket.on("data", (piece: Buffer) => (text += piece.toString("latin1"))).on("error", () => undefined);
  await until(
    () => text,
    (now) => now.endsWith("}"),
  );
  expect(text).toMatch(/^HTTP\/1\.1 408 [^]*"the request took too long to arrive"\}$/);
  await until(
    () => sockets[0]!.destroyed,
    (isDestroyed) => isDestroyed,
  );
});

test("a request that waits behind a slow one is not refused as too late", async () => {
  const { handler, begun, release } = held();
  // On a busy machine, the first request may take a second.
  const options = { headersTimeout: 2_000, requestTimeout: 2_000, connectionsCheckingInterval: 20 };
  const { server, port } = await start(handler, options);
  const errors: (string | undefined)[] = [];
  server.on("clientError", ({ code }: Error & { code?: string }) => errors.push(code));
  const body = "x".repeat(200_000);
  const client = await pipeline(
    port,
    `${get}POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n${body}`,
  );
  await until(begun, (count) => count === 1);
  await until(
    () => errors,
    ({ length }) => length > 0,
  );
  expect(errors).toEqual(["ERR_HTTP_REQUEST_TIMEOUT"]);
  release();
  await until(client.statuses, (statuses) => statuses.length === 2);
  expect(client.statuses()).toEqual([200, 200]);
});
