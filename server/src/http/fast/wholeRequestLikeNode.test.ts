import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { plainId as id, requestBytes as bytesOf } from "../../../test/support/plainRequest.ts";
import type { WholeRequest } from "../contract/route.ts";
import { readWholeRequest } from "./wholeRequest.ts";

interface Seen {
  method: string | undefined;
  url: string | undefined;
  /** With names in lower case, sorted: an object puts names that are numbers first. */
  headers: string[];
  body: Buffer;
}

/** @param flat Names and values in turn. */
function headerLines(flat: readonly string[]): string[] {
  const lines = flat.flatMap((name, at) =>
    at % 2 === 0 ? `${name.toLowerCase()}: ${JSON.stringify(flat[at + 1])}` : [],
  );
  return lines.toSorted((one, other) => (one < other ? -1 : 1));
}

describe("what is read is what Node's own parser reads", () => {
  const lastLine = "GET /last HTTP/1.1";
  let server: Server;
  /** By the client's port: what arrived on its connection. */
  const arrived = new Map<number, Seen[]>();

  beforeAll(async () => {
    server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => pieces.push(piece));
      request.on("end", () => {
        arrived.get(request.socket.remotePort!)!.push({
          method: request.method,
          url: request.url,
          headers: headerLines(request.rawHeaders),
          body: Buffer.concat(pieces),
        });
        response.end("x");
      });
    });
    server.on("connection", (socket: Socket) => arrived.set(socket.remotePort!, []));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  /**
   * The requests that Node sees in `bytes` and in a last one that follows once the first was answered, and the
   * `Connection` headers of the answers.
   */
  async function seenByNode(bytes: Buffer): Promise<{ requests: Seen[]; connections: string[] }> {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    let answers = "";
    let port = 0;
    socket.setEncoding("latin1").on("error", () => undefined);
    socket.on("connect", () => (port = socket.localPort!));
    socket.on("data", (text: string) => {
      const isFirst = answers === "";
      answers += text;
      if (isFirst) socket.end(`${lastLine}\r\nhost: x\r\nconnection: close\r\n\r\n`);
    });
    socket.write(bytes);
    await new Promise((resolve) => socket.once("close", resolve));
    const connections = [...answers.matchAll(/^connection: (.*)\r$/gim)].map(([, value]) => value!);
    return { requests: arrived.get(port)!, connections };
  }

  async function expectSame(read: WholeRequest, bytes: Buffer): Promise<void> {
    const { requests, connections } = await seenByNode(bytes);
    expect(connections).toEqual(["keep-alive", "close"]);
    expect(requests).toHaveLength(2);
    expect(requests[1]).toMatchObject({ method: "GET", url: "/last" });
    expect(requests[0]).toEqual({
      method: "POST",
      url: read.path.replace(":id", read.id),
      headers: headerLines(Object.entries(read.headers).flat()),
      body: read.body,
    });
    expect(read.headers["authorization"]?.slice("Bearer ".length)).toBe(read.key);
  }

  const token = fc.string({
    unit: fc.constantFrom(...Array.from("!#$%&'*+-.^_`|~09azAZ")),
    minLength: 1,
    maxLength: 12,
  });
  const knownName = fc.constantFrom(
    "Idempotency-Key",
    "X-Event-Type",
    "X-Session-Token",
    "X-Forwarded-For",
    "Accept",
    "Accept-Encoding",
    "Cookie",
    "Set-Cookie",
    "Content-Encoding",
    "Keep-Alive",
    "Proxy-Connection",
    "Connection",
    "Proxy-Authenticate",
    "HTTP2-Settings",
    "Trailers",
    "Age",
    "Content-Lengths",
    "Transfer-Encodin",
  );
  const value = fc.oneof(
    fc.string({
      unit: fc.constantFrom(...Array.from(' \t,;:="!~az09\u0080\u00a0\u00e9\u00ff')),
      maxLength: 20,
    }),
    fc.constantFrom("close", "keep-alive", "upgrade", "chunked", "gzip", "0", "100-continue"),
  );
  const header = fc
    .tuple(fc.oneof(token, knownName), fc.constantFrom(":", ": ", ":\t", ":  "), value)
    .map((parts) => parts.join(""));
  const parts = fc.record({
    line: fc.constantFrom(
      `POST /t/${id} HTTP/1.1`,
      `POST /e/${id} HTTP/1.1`,
      `POST /t/${id}/ack HTTP/1.1`,
      "POST /p/a:b HTTP/1.1",
    ),
    more: fc.uniqueArray(header, { maxLength: 6, selector: (line) => line.split(":")[0]!.toLowerCase() }),
    body: fc
      .oneof(
        fc.uint8Array({ minLength: 1, maxLength: 60 }),
        fc.json().map((text) => Buffer.from(text)),
      )
      .map((bytes) => Buffer.from(bytes)),
  });

  /** Of requests that are drawn, those that are read as a whole are read as Node reads them: more than 200. */
  async function expectSameOf(
    requests: fc.Arbitrary<Buffer>,
    run: { seed: number; numRuns: number },
  ): Promise<void> {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(requests, async (bytes) => {
        const read = readWholeRequest(bytes);
        if (read === undefined) return;
        count++;
        await expectSame(read, bytes);
      }),
      run,
    );
    expect(count).toBeGreaterThan(200);
  }

  it("in requests with any headers and body", async () => {
    await expectSameOf(parts.map(bytesOf), { seed: 1, numRuns: 400 });
  });

  /** Where in the bytes, as a share of their length; the second form is the beginning of a line. */
  const place = fc.oneof(
    fc.double({ min: 0, max: 1, noNaN: true }).map((share) => (bytes: Buffer) => {
      return Math.floor(share * bytes.length);
    }),
    fc.nat(8).map((number) => (bytes: Buffer) => {
      const starts = [...bytes.toString("latin1").matchAll(/\n/g)].map(({ index }) => index + 1);
      return starts[number % Math.max(1, starts.length)] ?? 0;
    }),
  );
  const inserted = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 3 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom(
        " ",
        "\t",
        "\r",
        "\n",
        "\0",
        ":",
        ",",
        "0",
        "\r\n",
        "X-A: 1\r\n",
        "x-a:\r\n",
        "Content-Length: 7\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close\r\n",
        "Proxy-Connection: close\r\n",
        "__proto__: a\r\n",
        " folded\r\n",
      )
      .map((text) => Buffer.from(text, "latin1")),
  );
  const put = (bytes: Buffer, at: number, gone: number, instead: Uint8Array): Buffer =>
    Buffer.concat([bytes.subarray(0, at), instead, bytes.subarray(at + gone)]);
  const mutation = fc.oneof(
    fc.tuple(place, fc.nat(255)).map(
      ([at, byte]) =>
        (bytes: Buffer) =>
          put(bytes, at(bytes), 1, Buffer.of(byte)),
    ),
    fc.tuple(place, fc.nat(7)).map(
      ([at, bit]) =>
        (bytes: Buffer) =>
          put(bytes, at(bytes), 1, Buffer.of((bytes[at(bytes)] ?? 0) ^ (1 << bit))),
    ),
    fc.tuple(place, inserted).map(
      ([at, piece]) =>
        (bytes: Buffer) =>
          put(bytes, at(bytes), 0, piece),
    ),
    fc.tuple(place, fc.integer({ min: 1, max: 4 })).map(
      ([at, gone]) =>
        (bytes: Buffer) =>
          put(bytes, at(bytes), gone, Buffer.alloc(0)),
    ),
    fc.tuple(place, place, fc.integer({ min: 1, max: 60 })).map(([from, to, length]) => (bytes: Buffer) => {
      const start = from(bytes);
      return put(bytes, to(bytes), 0, bytes.subarray(start, start + length));
    }),
  );

  it("in requests whose bytes were changed anyhow", async () => {
    const changed = fc
      .tuple(parts, fc.array(mutation, { minLength: 1, maxLength: 3 }))
      .map(([drawn, mutations]) => mutations.reduce((bytes, mutate) => mutate(bytes), bytesOf(drawn)));
    await expectSameOf(changed, { seed: 2, numRuns: 10_000 });
  });
});
