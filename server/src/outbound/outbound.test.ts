import { createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { ok, outboundWith, receiverThat } from "../../test/support/outboundParts.ts";
import { startRawReceiver } from "../../test/support/rawReceiver.ts";
import type { OutboundRequest } from "./outbound.ts";

function post(url: string, more: Partial<OutboundRequest> = {}): OutboundRequest {
  const headers = ["content-type", "application/json"];
  return { method: "POST", url, headers, body: Buffer.from('{"a":1}'), ...more };
}

test("sends method, path, headers and body as given, and no other headers but its own", async () => {
  const receiver = await receiverThat((socket) => socket.write(ok));
  await outboundWith().request(post(`${receiver.url}?a=b%20c`, { headers: ["webhook-id", "x"] }));
  expect(receiver.requests).toEqual([
    [
      "POST /hook?a=b%20c HTTP/1.1",
      `host: 127.0.0.1:${receiver.port}`,
      "connection: keep-alive",
      "webhook-id: x",
      "user-agent: Postrider/test",
      "content-length: 7",
      "",
      '{"a":1}',
    ].join("\r\n"),
  ]);
});

test("returns an answer with its status, the relevant headers, and its body", async () => {
  const head = "HTTP/1.1 429 Too Many\r\nretry-after: 7\r\ncontent-type: text/plain\r\nset-cookie: a=b\r\n";
  const receiver = await receiverThat((socket) =>
    socket.write(`${head}etag: "e"\r\ncache-control: a\r\ncache-control: b\r\ncontent-length: 4\r\n\r\nbusy`),
  );
  const result = await outboundWith().request(post(receiver.url));
  expect(result).toEqual({
    kind: "response",
    status: 429,
    headers: { "retry-after": "7", "content-type": "text/plain", etag: '"e"', "cache-control": "a, b" },
    body: Buffer.from("busy"),
    truncated: false,
    durationMs: expect.any(Number),
  });
});

test("sequential requests share a connection, also with GET and without a body", async () => {
  const receiver = await receiverThat((socket) => socket.write(ok));
  const outbound = outboundWith();
  for (const method of ["POST", "GET", "POST", "GET"] as const) {
    expect(await outbound.request({ method, url: receiver.url, headers: [] })).toMatchObject({ status: 200 });
  }
  expect(receiver.connections).toBe(1);
});

test("a receiver that refuses the connection gives an error", async () => {
  const gone = await startRawReceiver(() => undefined);
  await gone.stop();
  expect(await outboundWith().request(post(gone.url))).toMatchObject({
    kind: "error",
    code: "connect_refused",
    message: "connection refused",
    sent: false,
  });
});

/** Long enough on a busy machine to connect, send a request, and read the first bytes of the answer. */
const patientMs = 2_000;

test("a receiver that hangs ends at the timeout, and its connection is closed", async () => {
  const receiver = await receiverThat(() => undefined);
  const result = await outboundWith().request(post(receiver.url, { timeoutMs: patientMs }));
  expect(result).toMatchObject({ code: "timeout", message: "no answer within 2 s", sent: true });
  await receiver.closed(1);
});

/** A receiver that sends `begin` and then one byte every 10 ms. */
function dripping(begin: string) {
  return (socket: Socket): void => {
    socket.write(begin);
    const drip = setInterval(() => socket.write("x"), 10);
    socket.on("close", () => clearInterval(drip));
  };
}

test("a receiver that sends one byte at a time ends at the timeout", async () => {
  const receiver = await receiverThat(dripping("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n"));
  const result = await outboundWith().request(post(receiver.url, { timeoutMs: patientMs }));
  expect(result).toMatchObject({ code: "timeout", message: "the answer (200) did not end within 2 s" });
  await receiver.closed(1);
});

test("a receiver that sends its headers one byte at a time ends at the timeout", async () => {
  const receiver = await receiverThat(dripping("HTTP/1.1 200 OK\r\nx: "));
  const result = await outboundWith().request(post(receiver.url, { timeoutMs: patientMs }));
  expect(result).toMatchObject({ code: "timeout", message: "no answer within 2 s" });
});

test.each([
  ["before an answer", "", "the connection was closed without an answer"],
  [
    "in the headers",
    "HTTP/1.1 200 OK\r\ncontent-le",
    "the connection was closed in the middle of the answer's headers",
  ],
  [
    "in the body",
    "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",
    "the connection was closed in the middle of the answer",
  ],
  [
    "in a chunked body",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    "the connection was closed in the middle of the answer",
  ],
])("a receiver that resets %s", async (_where, answer, message) => {
  for (const end of ["resetAndDestroy", "end"] as const) {
    const receiver = await receiverThat((socket) => socket.write(answer, () => socket[end]()));
    const result = await outboundWith().request(post(receiver.url));
    expect(result).toMatchObject({ kind: "error", code: "reset", message, sent: true });
    expect(receiver.requests).toHaveLength(1);
  }
});

test("a body without a length ends with the connection", async () => {
  const receiver = await receiverThat((socket) => socket.end("HTTP/1.0 200 OK\r\n\r\nall of it"));
  const result = await outboundWith().request(post(receiver.url));
  expect(result).toMatchObject({ status: 200, body: Buffer.from("all of it"), truncated: false });
});

test("a redirect is an answer and is not followed", async () => {
  const elsewhere = await receiverThat((socket) => socket.write(ok));
  const receiver = await receiverThat((socket) =>
    socket.write(`HTTP/1.1 302 Found\r\nlocation: ${elsewhere.url}\r\ncontent-length: 0\r\n\r\n`),
  );
  const result = await outboundWith().request(post(receiver.url));
  expect(result).toMatchObject({ status: 302, headers: { location: elsewhere.url } });
  expect(elsewhere.connections).toBe(0);
});

test("a body of 100 MB is read up to the limit, counts as an answer, and its connection is closed at once", async () => {
  const block = Buffer.alloc(64 * 1024, "x");
  const receiver = await receiverThat((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${100 * 1024 * 1024}\r\n\r\n`);
    const pour = (): void => {
      while (!socket.destroyed && socket.write(block));
    };
    socket.on("drain", pour);
    pour();
  });
  const result = await outboundWith().request(post(receiver.url));
  expect(result).toMatchObject({ kind: "response", status: 200, truncated: true });
  expect(result.kind === "response" && result.body.length).toBe(16 * 1024);
  await receiver.closed(1);
});

test("a body of exactly the limit is complete, and a larger limit reads more", async () => {
  const body = "x".repeat(100);
  const receiver = await receiverThat((socket) =>
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n${body}`),
  );
  const outbound = outboundWith();
  for (const [bodyLimitBytes, truncated] of [
    [100, false],
    [99, true],
    [0, true],
    [1_048_576, false],
  ] as const) {
    const result = await outbound.request(post(receiver.url, { bodyLimitBytes }));
    expect(result).toMatchObject({ status: 200, truncated });
    expect(result.kind === "response" && result.body.length).toBe(Math.min(bodyLimitBytes, 100));
  }
});

test.each([
  [
    "garbage",
    "\u0000\u0001garbage that is no HTTP\r\n\r\n",
    'the answer is not valid HTTP: it does not begin with "HTTP/"',
  ],
  [
    "an SSH greeting",
    "SSH-2.0-OpenSSH_9.6\r\n",
    'the answer is not valid HTTP: it does not begin with "HTTP/"',
  ],
  [
    "a bad length",
    "HTTP/1.1 200 OK\r\ncontent-length: -4\r\n\r\n",
    "the answer is not valid HTTP: its Content-Length is not a number",
  ],
  [
    "headers of 1 MB",
    `HTTP/1.1 200 OK\r\nx: ${"y".repeat(1_048_576)}\r\n\r\n`,
    "the headers of the answer are too large",
  ],
  [
    "an upgrade",
    "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
    "the answer switches to another protocol, which the request did not ask for",
  ],
])("a receiver that answers with %s", async (_what, answer, message) => {
  const receiver = await receiverThat((socket) => socket.write(answer));
  const result = await outboundWith().request(post(receiver.url));
  expect(result).toMatchObject({ kind: "error", code: "bad_response", message, sent: true });
  await receiver.closed(1);
});

test("interim answers are ignored", async () => {
  const early = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\nretry-after: 9\r\n\r\n";
  const receiver = await receiverThat((socket) => socket.write(`${early}${early}${ok}`));
  expect(await outboundWith().request(post(receiver.url))).toMatchObject({
    kind: "response",
    status: 200,
    headers: {},
    body: Buffer.from("ok"),
  });
});

test("204 has no body and leaves the connection usable", async () => {
  const receiver = await receiverThat((socket) => socket.write("HTTP/1.1 204 No Content\r\n\r\n"));
  const outbound = outboundWith();
  for (let count = 0; count < 3; count += 1) {
    const result = await outbound.request(post(receiver.url));
    expect(result).toMatchObject({ status: 204, body: Buffer.alloc(0), truncated: false });
  }
  expect(receiver.connections).toBe(1);
});

test("a compressed body is not decompressed", async () => {
  const receiver = await receiverThat((socket) =>
    socket.write("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nGZIP"),
  );
  const result = await outboundWith().request(post(receiver.url));
  expect(result).toMatchObject({ body: Buffer.from("GZIP") });
  expect(receiver.requests[0]).not.toMatch(/accept-encoding/i);
});

test("a request on a kept-alive connection that the receiver closes is repeated once on a new connection", async () => {
  const receiver = await receiverThat((socket, number) => {
    if (number === 2) {
      socket.resetAndDestroy();
    } else {
      socket.write(ok);
    }
  });
  const outbound = outboundWith();
  expect(await outbound.request(post(receiver.url))).toMatchObject({ status: 200 });
  expect(await outbound.request(post(receiver.url))).toMatchObject({ status: 200 });
  expect(receiver.requests).toHaveLength(3);
  expect(receiver.connections).toBe(2);
});

test("a request is repeated only once, and never if it must not arrive twice", async () => {
  const receiver = await receiverThat((socket, number) => {
    if (number === 1 || number === 4) {
      socket.write(ok);
    } else {
      socket.destroy();
    }
  });
  const outbound = outboundWith();
  await outbound.request(post(receiver.url));
  expect(await outbound.request(post(receiver.url))).toMatchObject({ code: "reset" });
  expect(receiver.requests).toHaveLength(3);
  await outbound.request(post(receiver.url));
  expect(await outbound.request(post(receiver.url, { repeatable: false }))).toMatchObject({ code: "reset" });
  expect(receiver.requests).toHaveLength(5);
});

test("connections to one origin are limited, and waiting requests are served later", async () => {
  const receiver = await receiverThat((socket) => setImmediate(() => socket.write(ok)));
  const outbound = outboundWith({ maxConnectionsPerOrigin: 3 });
  const results = await Promise.all(Array.from({ length: 100 }, () => outbound.request(post(receiver.url))));
  expect(results.every((result) => result.kind === "response")).toBe(true);
  expect(receiver.connections).toBe(3);
});

test("a request that never got a connection ends with an error that does not blame the receiver", async () => {
  const receiver = await receiverThat(() => undefined);
  const outbound = outboundWith({ maxConnectionsPerOrigin: 1 });
  const first = outbound.request(post(receiver.url, { timeoutMs: patientMs }));
  expect(await outbound.request(post(receiver.url, { timeoutMs: 99.9999 }))).toMatchObject({
    code: "local",
    message: "no free connection to the host within 0.1 s",
    sent: false,
  });
  expect(await first).toMatchObject({ code: "timeout" });
});

test("idle connections are bounded over all origins", async () => {
  const receivers = await Promise.all([1, 2, 3].map(() => receiverThat((socket) => socket.write(ok))));
  const outbound = outboundWith({ maxIdleConnections: 2 });
  for (const receiver of receivers) {
    await outbound.request(post(receiver.url));
  }
  await receivers[0]?.closed(1);
  await outbound.request(post(receivers[2]?.url ?? ""));
  expect(receivers.map((receiver) => receiver.connections)).toEqual([1, 1, 1]);
});

test("an idle connection closes after its time", async () => {
  const receiver = await receiverThat((socket) => socket.write(ok));
  const result = await outboundWith({ keepAliveTimeoutMs: 100 }).request(post(receiver.url));
  expect(result).toMatchObject({ status: 200 });
  await receiver.closed(1);
});

test("a connection that is never accepted ends at the connect timeout", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  const outbound = outboundWith({ connectTimeoutMs: 150, resolve: () => new Promise(() => undefined) });
  expect(await outbound.request(post("http://never.example/"))).toMatchObject({
    code: "connect_timeout",
    message: "no connection within 0.15 s",
    sent: false,
  });
});

test("a name that does not exist gives a DNS error", async () => {
  const error = Object.assign(new Error("queryA ENOTFOUND"), { code: "ENOTFOUND", syscall: "queryA" });
  const outbound = outboundWith({ resolve: () => Promise.reject(error) });
  expect(await outbound.request(post("http://nowhere.example/"))).toMatchObject({
    code: "dns",
    message: "the host name nowhere.example does not exist",
    sent: false,
  });
});

test.each([
  ["not a url", "other"],
  ["ftp://127.0.0.1/", "refused_address"],
  ["http://user:secret@127.0.0.1/", "refused_address"],
])("the URL %j is an error value, not a throw", async (url, code) => {
  expect(await outboundWith().request(post(url))).toMatchObject({ kind: "error", code, sent: false });
});

test("a header that cannot be sent gives an error value and does not break the connection", async () => {
  const receiver = await receiverThat((socket) => socket.write(ok));
  const outbound = outboundWith();
  const bad = post(receiver.url, { headers: ["x-event-type", "a\r\nb: c"] });
  expect(await outbound.request(bad)).toMatchObject({
    kind: "error",
    code: "other",
    message: "the request cannot be sent (invalid x-event-type header)",
    sent: false,
  });
  expect(await outbound.request(post(receiver.url))).toMatchObject({ status: 200 });
  expect(receiver.requests).toHaveLength(1);
});

test("closing ends running and waiting requests and refuses new ones", async () => {
  const receiver = await receiverThat(() => undefined);
  const outbound = outboundWith({ maxConnectionsPerOrigin: 1 });
  const under = outbound.request(post(receiver.url));
  const waits = outbound.request(post(receiver.url));
  outbound.close();
  for (const result of await Promise.all([under, waits, outbound.request(post(receiver.url))])) {
    expect(result).toMatchObject({ kind: "error", code: "local", message: "the service is shutting down" });
  }
});
