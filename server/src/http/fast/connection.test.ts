import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { requestBytes } from "../../../test/support/plainRequest.ts";
import { until } from "../../../test/support/until.ts";
import type { FastAnswer, WholeRequest } from "../contract/route.ts";
import { limitConnections } from "../connections/connectionLimit.ts";
import { openFastPath, type FastRoute, type FastPath } from "./fastPath.ts";

interface Stage {
  server: Server;
  fastPath: FastPath;
  /** The server's ends, in the order of their connections. */
  sockets: Socket[];
  /** What the parser got in place of the fast path: methods, paths and bodies. */
  parsed: string[];
  /** A client; its side stays open when the server's ends. */
  open: () => Promise<Client>;
}

interface Client {
  socket: Socket;
  /** Everything that came, as Latin-1. */
  text: () => string;
  closed: Promise<unknown>;
}

function plainRequest(number: number): Buffer {
  return requestBytes({ body: String(number) });
}

/** A server whose parser answers with what it got, and whose fast path answers with `answer`. */
async function setStage(
  answer: (request: WholeRequest) => Promise<FastAnswer>,
  { firstRequestMs = 60_000, idleMs = 60_000 } = {},
): Promise<Stage> {
  const parsed: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece: Buffer) => (body += piece.toString("latin1")));
    request.on("end", () => {
      parsed.push(`${request.method} ${request.url} ${body}`);
      response.end(`parsed ${body}`);
    });
  });
  const route: FastRoute = (request, _started, give) => {
    void answer(request).then(give);
    return true;
  };
  const fastPath = openFastPath(server, {
    routes: new Map([["/t/:id", route]]),
    firstRequestMs,
    idleMs,
    connectionLimit: limitConnections(server, 1000, () => false),
  });
  const sockets: Socket[] = [];
  server.on("connection", (socket: Socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { server, fastPath, sockets, parsed, open: () => openClient(server) };
}

async function openClient(server: Server): Promise<Client> {
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  let text = "";
  socket.on("data", (piece: Buffer) => (text += piece.toString("latin1"))).on("error", () => undefined);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  return { socket, text: () => text, closed };
}

function echo({ body }: WholeRequest): FastAnswer {
  return { status: 202, text: `"fast ${body.toString()}"` };
}

/** Answers that wait to be let go. */
function hold(): {
  answer: (request: WholeRequest) => Promise<FastAnswer>;
  asked: () => number;
  letGo: () => void;
} {
  const held: (() => void)[] = [];
  return {
    answer: (request) => new Promise((resolve) => held.push(() => resolve(echo(request)))),
    asked: () => held.length,
    letGo: () => held.forEach((release) => release()),
  };
}

function bodiesIn(text: string): string[] {
  return [...text.matchAll(/\r\n\r\n"?((?:fast|parsed) \d+)/g)].map(([, body]) => body!);
}

test("plain requests one after another are answered past the parser", async () => {
  const { open, parsed } = await setStage(async (request) => echo(request));
  const { socket, text } = await open();
  for (let number = 1; number <= 20; number++) {
    socket.write(plainRequest(number));
    await until(text, (now) => now.endsWith(`"fast ${number}"`));
  }
  expect(parsed).toEqual([]);
});

test("a request that comes while one is under way is answered after it, by the parser", async () => {
  const { answer, asked, letGo } = hold();
  const { open, sockets, parsed } = await setStage(answer);
  const { socket, text } = await open();
  const [first, second] = [plainRequest(1), plainRequest(2)];
  socket.write(first);
  await until(asked, (count) => count === 1);
  socket.write(second.subarray(0, 50));
  await until(
    () => sockets[0]!.bytesRead,
    (count) => count === first.length + 50,
  );
  socket.write(Buffer.concat([second.subarray(50), plainRequest(3)]));
  letGo();
  await until(
    () => bodiesIn(text()),
    (bodies) => bodies.length === 3,
  );
  expect(bodiesIn(text())).toEqual(["fast 1", "parsed 2", "parsed 3"]);
  expect(parsed).toHaveLength(2);
  // The connection stays with the parser, and with it every byte.
  socket.write(plainRequest(4));
  await until(text, (now) => now.endsWith("parsed 4"));
});

test("a client that does not read its answers is not asked for more of them", async () => {
  const large = "x".repeat(32 * 1024 * 1024);
  let asked = 0;
  const { open, sockets } = await setStage(async () => ({ status: 202, text: `"${++asked}${large}"` }));
  const { socket } = await open();
  socket.pause();
  socket.write(plainRequest(1));
  await until(
    () => sockets[0]?.writableNeedDrain,
    (needs) => needs === true,
  );
  socket.write(plainRequest(2));
  await until(
    () => sockets[0]!.bytesRead,
    (count) => count === 2 * plainRequest(1).length,
  );
  expect(asked).toBe(1);
  let read = 0;
  socket.removeAllListeners("data").on("data", (piece: Buffer) => (read += piece.length));
  socket.resume();
  await until(
    () => read,
    (bytes) => bytes > 2 * large.length,
  );
  expect(asked).toBe(2);
});

test("a client that half-closes gets the answer that is under way, and the connection ends", async () => {
  const { answer, asked, letGo } = hold();
  const { open, sockets } = await setStage(answer);
  const { socket, text, closed } = await open();
  socket.end(plainRequest(1));
  await until(asked, (count) => count === 1);
  await until(
    () => sockets[0]!.readableEnded,
    (hasEnded) => hasEnded,
  );
  letGo();
  await closed;
  expect(text()).toMatch(/^HTTP\/1\.1 202 Accepted\r\n[^]*\r\nConnection: close\r\n\r\n"fast 1"$/);
});

test("what comes behind the last answer of a server that stops does nothing", async () => {
  const { answer, asked, letGo } = hold();
  const { open, server, sockets } = await setStage(answer);
  const { socket, text } = await open();
  socket.write(plainRequest(1));
  await until(asked, (count) => count === 1);
  server.close();
  letGo();
  await until(text, (now) => now.endsWith('"fast 1"'));
  expect(text()).toContain("\r\nConnection: close\r\n");
  socket.write(plainRequest(2));
  await until(
    () => sockets[0]!.bytesRead,
    (count) => count === 2 * plainRequest(1).length,
  );
  socket.end();
  await until(
    () => sockets[0]!.destroyed,
    (isDestroyed) => isDestroyed,
  );
  expect(asked()).toBe(1);
});

test("of the connections of a server that stops those end on which nothing is under way", async () => {
  const { answer, asked, letGo } = hold();
  const { open, server, fastPath } = await setStage(answer);
  const [idle, busy] = [await open(), await open()];
  busy.socket.write(plainRequest(1));
  await until(asked, (count) => count === 1);
  const ended = new Promise((resolve) => server.close(resolve));
  fastPath.closeIdle();
  idle.socket.end();
  await idle.closed;
  letGo();
  await until(busy.text, (now) => now.endsWith('"fast 1"'));
  fastPath.closeIdle();
  await ended;
  expect(idle.text()).toBe("");
});

test("a connection that sends nothing is told so after the limit, and closed without its help", async () => {
  const { open, sockets } = await setStage(async (request) => echo(request), { firstRequestMs: 50 });
  const { text } = await open();
  await until(
    () => sockets[0]!.destroyed,
    (isDestroyed) => isDestroyed,
  );
  await until(text, (now) => now.endsWith("}"));
  expect(text()).toMatch(/^HTTP\/1\.1 408 [^]*"the request took too long to arrive"\}$/);
});

test("an idle connection ends no earlier than it was promised", async () => {
  const { open, sockets } = await setStage(async (request) => echo(request), { idleMs: 1_000 });
  const { socket, text } = await open();
  socket.write(plainRequest(1));
  await until(text, (now) => now.includes("Keep-Alive: timeout=1\r\n"));
  const order: string[] = [];
  setTimeout(() => order.push("the time that was promised"), 1_000);
  sockets[0]!.once("close", () => order.push("the end"));
  await until(
    () => order,
    ({ length }) => length === 2,
  );
  expect(order).toEqual(["the time that was promised", "the end"]);
});
