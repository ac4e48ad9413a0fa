import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ok, outboundWith, receiverThat } from "../../test/support/outboundParts.ts";
import { createTlsSessions } from "./openTls.ts";
import type { OutboundOptions } from "./outbound.ts";

const certificates = new URL("../../test/support/certificates/", import.meta.url);
const cert = readFileSync(new URL("server.pem", certificates));
const key = readFileSync(new URL("server.key", certificates));
async function start(options: Partial<OutboundOptions>) {
  const receiver = await receiverThat((socket) => socket.write(ok), { cert, key });
  const outbound = outboundWith({
    allowHttp: false,
    resolve: () => Promise.resolve(["127.0.0.1"]),
    ...options,
  });
  const request = (host: string, port = receiver.port) =>
    outbound.request({
      method: "POST",
      url: `https://${host}:${port}/`,
      headers: [],
      body: Buffer.from("x"),
    });
  return { receiver, request };
}

test("a self-signed certificate is refused before anything is sent", async () => {
  const { receiver, request } = await start({});
  expect(await request("receiver.test")).toMatchObject({
    kind: "error",
    code: "tls",
    message: "the certificate is self-signed",
    sent: false,
  });
  expect(receiver.requests).toEqual([]);
  await receiver.closed(1);
});

test("a trusted certificate works by name, by name with a final dot, and by address", async () => {
  const { receiver, request } = await start({ ca: cert });
  for (const host of ["receiver.test", "receiver.test.", "127.0.0.1"]) {
    expect(await request(host)).toMatchObject({ kind: "response", status: 200 });
  }
  expect(receiver.requests).toHaveLength(3);
});

test("a certificate for another name is refused", async () => {
  const { receiver, request } = await start({ ca: cert });
  expect(await request("other.test")).toMatchObject({
    code: "tls",
    message: "the certificate is for another host name",
    sent: false,
  });
  expect(receiver.requests).toEqual([]);
});

test("a TLS session of one name is not used for another", async () => {
  const { request } = await start({ ca: cert, keepAliveTimeoutMs: 1 });
  for (let count = 0; count < 3; count += 1) {
    expect(await request("receiver.test")).toMatchObject({ status: 200 });
    expect(await request("other.test")).toMatchObject({ code: "tls" });
  }
});

test("a stored TLS session keeps no more memory than its own bytes", () => {
  const sessions = createTlsSessions();
  const session = Buffer.alloc(64 * 1024)
    .fill("session", 1000, 1842)
    .subarray(1000, 1842);
  sessions.set("receiver.test:443", session);
  const stored = sessions.get("receiver.test:443")!;
  expect(stored).toEqual(session);
  expect(stored.buffer.byteLength).toBe(842);
});

test("a port that does not speak TLS gives a TLS error", async () => {
  const plain = await receiverThat(() => undefined);
  const { request } = await start({ ca: cert });
  // The TLS client speaks first; a plain server that only reads never answers the handshake.
  const silent = await start({ ca: cert, connectTimeoutMs: 150 });
  expect(await silent.request("receiver.test", plain.port)).toMatchObject({ code: "connect_timeout" });
  await plain.closed(1);
  await plain.stop();
  expect(await request("receiver.test", plain.port)).toMatchObject({ code: "connect_refused" });
});
