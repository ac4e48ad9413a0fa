import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { headersWith, plainKey, requestBytes } from "../../../test/support/plainRequest.ts";
import { until } from "../../../test/support/until.ts";
import { limitConnections } from "../connections/connectionLimit.ts";
import { PacedServer } from "../connections/pacedServer.ts";
import type { FastAnswer, RouteRecord, WholeRequest } from "../contract/route.ts";
import { createFastHandler, type FastDeps } from "./fastHandler.ts";

interface Stage {
  server: PacedServer;
  /** The server's sockets, in the order of their connections. */
  sockets: Socket[];
  /** Methods, paths and bodies of the requests that reached the framework. */
  framework: string[];
  /** Opens a client whose side of the connection stays open when the server ends its side. */
  open: () => Promise<Client>;
}

interface Client {
  socket: Socket;
  /** All bytes received so far, as Latin-1. */
  text: () => string;
  closed: Promise<unknown>;
}

function plainRequest(number: number): Buffer {
  return requestBytes({ body: String(number) });
}

/** A server whose framework echoes the body, and whose fast path answers with `answer`. */
async function setStage(
  answer: (request: WholeRequest) => Promise<FastAnswer> | undefined,
  keepAliveMs = 60_000,
): Promise<Stage> {
  const framework: string[] = [];
  const server = new PacedServer({ keepAliveTimeout: keepAliveMs }, (request, response) => {
    let body = "";
    request.on("data", (piece: Buffer) => (body += piece.toString("latin1")));
    request.on("end", () => {
      framework.push(`${request.method} ${request.url} ${body}`);
      response.end(`framework ${body}`);
    });
  });
  const deps: Partial<FastDeps> = {
    log: { request: () => undefined } as unknown as FastDeps["log"],
    metrics: { observe: () => undefined },
    keyOwners: {
      known: (key) => (key === plainKey ? { orgId: "o", scope: undefined } : undefined),
      find: () => Promise.resolve(undefined),
    },
    maxBodyBytes: 1_000,
    connectionLimit: limitConnections(server, 1000, () => false),
    keepAliveSeconds: keepAliveMs / 1000,
    isOpen: () => server.listening,
    framework: server.framework,
  };
  const route = { method: "POST", path: "/t/:target_id", fast: answer } as unknown as RouteRecord;
  server.handle = createFastHandler(deps as FastDeps, [route]);
  const sockets: Socket[] = [];
  server.on("connection", (socket: Socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { server, sockets, framework, open: () => openClient(server) };
}

async function openClient(server: PacedServer): Promise<Client> {
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

/** A handler whose answers wait until `release` is called. */
function hold(): {
  answer: (request: WholeRequest) => Promise<FastAnswer>;
  asked: () => number;
  release: () => void;
} {
  const held: (() => void)[] = [];
  return {
    answer: (request) => new Promise((resolve) => held.push(() => resolve(echo(request)))),
    asked: () => held.length,
    release: () => held.splice(0).forEach((one) => one()),
  };
}

function bodiesIn(text: string): string[] {
  return [...text.matchAll(/\r\n\r\n"?((?:fast|framework) \d+)/g)].map(([, body]) => body!);
}

test("plain requests one after another are answered without the framework", async () => {
  const { open, framework } = await setStage(async (request) => echo(request));
  const { socket, text } = await open();
  for (let number = 1; number <= 20; number++) {
    socket.write(plainRequest(number));
    await until(text, (now) => now.endsWith(`"fast ${number}"`));
  }
  expect(framework).toEqual([]);
});

test("pipelined requests are answered one after the other, in order", async () => {
  const asked: string[] = [];
  const { answer, release } = hold();
  const { open, framework } = await setStage((request) => {
    asked.push(request.body.toString());
    return answer(request);
  });
  const { socket, text } = await open();
  const get = Buffer.from("GET /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n2");
  socket.write(Buffer.concat([plainRequest(1), get, plainRequest(3), plainRequest(4)]));
  for (const number of ["1", "3", "4"]) {
    await until(
      () => asked,
      (bodies) => bodies.includes(number),
    );
    expect(asked.at(-1)).toBe(number);
    release();
  }
  await until(
    () => bodiesIn(text()),
    (bodies) => bodies.length === 4,
  );
  expect(bodiesIn(text())).toEqual(["fast 1", "framework 2", "fast 3", "fast 4"]);
  expect(framework).toEqual(["GET /2 2"]);
});

test("the framework handles a body in several pieces, and a body beyond the limit", async () => {
  const { open, sockets, framework } = await setStage(async (request) => echo(request));
  const { socket, text } = await open();
  const split = plainRequest(11);
  socket.write(split.subarray(0, -1));
  await until(
    () => sockets[0]!.bytesRead,
    (count) => count === split.length - 1,
  );
  socket.write(split.subarray(-1));
  await until(text, (now) => now.endsWith("framework 11"));
  const large = "2".repeat(1_001);
  socket.write(requestBytes({ body: large }));
  await until(text, (now) => now.endsWith(`framework ${large}`));
  expect(framework).toHaveLength(2);
});

test("the fast path also handles a body that arrives in one piece after its head", async () => {
  const { open, sockets, framework } = await setStage(async (request) => echo(request));
  const { socket, text } = await open();
  const split = plainRequest(11);
  socket.write(split.subarray(0, -2));
  await until(
    () => sockets[0]!.bytesRead,
    (count) => count === split.length - 2,
  );
  socket.write(Buffer.concat([split.subarray(-2), plainRequest(12)]));
  await until(text, (now) => now.endsWith('"fast 12"'));
  expect(bodiesIn(text())).toEqual(["fast 11", "fast 12"]);
  expect(framework).toEqual([]);
});

test("the framework handles a request with an unknown key, even before the body has arrived", async () => {
  const { open, server, framework } = await setStage(async (request) => echo(request));
  const handled = new Promise<void>((resolve) => server.once("request", () => resolve()));
  const { socket, text } = await open();
  const key = `ak_live_${"1".repeat(64)}`;
  const request = requestBytes({ headers: headersWith(key), body: "1" });
  socket.write(request.subarray(0, -1));
  await handled;
  socket.write(request.subarray(-1));
  await until(text, (now) => now.endsWith("framework 1"));
  expect(framework).toHaveLength(1);
});

test("the framework handles a request for which `fast` returns undefined, with its body", async () => {
  const { open, framework } = await setStage(() => undefined);
  const { socket, text } = await open();
  socket.write(Buffer.concat([plainRequest(1), plainRequest(2)]));
  await until(text, (now) => now.endsWith("framework 2"));
  expect(bodiesIn(text())).toEqual(["framework 1", "framework 2"]);
  expect(framework).toHaveLength(2);
});

test("while a client does not read its answers, its next request is not handled", async () => {
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

test("a client that half-closes after pipelined requests gets all answers, and then the connection ends", async () => {
  const { answer, asked, release } = hold();
  const { open, sockets } = await setStage(answer);
  const { socket, text, closed } = await open();
  socket.end(Buffer.concat([plainRequest(1), plainRequest(2)]));
  await until(
    () => sockets[0]?.readableEnded,
    (hasEnded) => hasEnded === true,
  );
  for (let number = 1; number <= 2; number++) {
    await until(asked, (count) => count === 1);
    release();
  }
  await closed;
  expect(text()).toMatch(
    /^HTTP\/1\.1 202 Accepted\r\n[^]*\r\nConnection: keep-alive\r\n[^]*"fast 1"HTTP[^]*\r\nConnection: close\r\n\r\n"fast 2"$/,
  );
});

test("a client that half-closes while the framework handles its request gets no answer", async () => {
  const { open, server, sockets } = await setStage(() => undefined);
  let answer: (() => void) | undefined;
  server.handle = (_request, response) => (answer = () => void response.end("late"));
  const { socket, text, closed } = await open();
  socket.end(plainRequest(1));
  await until(
    () => sockets[0]?.writableEnded,
    (hasEnded) => hasEnded === true,
  );
  answer!();
  await closed;
  expect(text()).toBe("");
});

test("after a request with `Connection: close`, the connection ends after the answer", async () => {
  const { open, framework } = await setStage(async (request) => echo(request));
  const { socket, text, closed } = await open();
  socket.write(Buffer.concat([requestBytes({ body: "1", more: ["Connection: close"] }), plainRequest(2)]));
  socket.on("end", () => socket.end());
  await closed;
  expect(bodiesIn(text())).toEqual(["fast 1"]);
  expect(text()).toContain("\r\nConnection: close\r\n");
  expect(framework).toEqual([]);
});

test("while the server stops, requests after the last answer of a connection are ignored", async () => {
  const { answer, asked, release } = hold();
  const { open, server, sockets } = await setStage(answer);
  const { socket, text } = await open();
  socket.write(plainRequest(1));
  await until(asked, (count) => count === 1);
  server.close();
  release();
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
  expect(asked()).toBe(0);
});

test("an idle connection ends no earlier than its Keep-Alive header promised", async () => {
  const { open, sockets } = await setStage(async (request) => echo(request), 1_000);
  const { socket, text } = await open();
  const order: string[] = [];
  sockets[0]!.once("close", () => order.push("the end"));
  // The promised time counts from the answer, which is sent later than this timer starts.
  setTimeout(() => order.push("the time that was promised"), 1_000);
  socket.write(plainRequest(1));
  await until(text, (now) => now.includes("Keep-Alive: timeout=1\r\n"));
  await until(
    () => order,
    ({ length }) => length === 2,
  );
  expect(order).toEqual(["the time that was promised", "the end"]);
});
