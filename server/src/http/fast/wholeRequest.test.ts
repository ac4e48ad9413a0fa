import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Parts,
  plainHeaders,
  plainId as id,
  plainKey as key,
  requestBytes as bytesOf,
} from "../../../test/support/plainRequest.ts";
import { createRequestReader, readWholeRequest } from "./wholeRequest.ts";

const plainLine = `POST /t/${id} HTTP/1.1`;

/** The plain headers with one of them replaced, or left out for undefined. */
function withHeader(name: string, line: string | undefined): string[] {
  return plainHeaders.flatMap((one) => (one.startsWith(`${name}:`) ? (line ?? []) : one));
}

describe("a plain request is read", () => {
  test("with its path, id, key, headers and body", () => {
    expect(readWholeRequest(bytesOf({ more: ["X-Event-Type: order.paid"] }))).toEqual({
      path: "/t/:id",
      id,
      key,
      headers: {
        host: "localhost",
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "x-event-type": "order.paid",
        "content-length": "7",
      },
      body: Buffer.from('{"a":1}'),
    });
  });

  test.each([
    [`POST /e/${id} HTTP/1.1`, "/e/:id"],
    [`POST /api/v1/mailboxes/${id}/claim HTTP/1.1`, "/api/v1/mailboxes/:id/claim"],
    [`POST /api/v1/mailbox-messages/${id}/ack HTTP/1.1`, "/api/v1/mailbox-messages/:id/ack"],
  ])("of %s, by its path with the id taken out", (line, path) => {
    expect(readWholeRequest(bytesOf({ line }))).toMatchObject({ path, id });
  });

  test.each([
    ["POST /p HTTP/1.1", "/p", ""],
    ["POST /p/customer-4711 HTTP/1.1", "/p/:id", "customer-4711"],
    ["POST /p/A.b_c:9 HTTP/1.1", "/p/:id", "A.b_c:9"],
    [`POST /p/${"x".repeat(128)} HTTP/1.1`, "/p/:id", "x".repeat(128)],
    [`POST /p/${id} HTTP/1.1`, "/p/:id", id],
  ])("of %s, a publication, by its path with the customer taken out", (line, path, customer) => {
    expect(readWholeRequest(bytesOf({ line }))).toMatchObject({ path, id: customer });
  });

  test.each<[string, string, string, string]>([
    ["names in any case", "x-CORRELATION-iD: a", "x-correlation-id", "a"],
    ["no blank before the value", "X-Event-Type:a", "x-event-type", "a"],
    ["blanks and tabs around the value", "X-Event-Type: \t a b\tc \t ", "x-event-type", "a b\tc"],
    ["an empty value", "X-Event-Type:", "x-event-type", ""],
    ["a value of blanks", "X-Event-Type: \t  ", "x-event-type", ""],
    ["bytes beyond ASCII as Latin-1", "Idempotency-Key: \u00e9\u00ff", "idempotency-key", "\u00e9\u00ff"],
    [
      "no-break spaces around the value",
      "Idempotency-Key: \u00a0a\u00a0",
      "idempotency-key",
      "\u00a0a\u00a0",
    ],
    ["colons in the value", "X-Ordering-Key: a:b: c", "x-ordering-key", "a:b: c"],
    ["every character of a token", "!#$%&'*+-.^_`|~0aZ: a", "!#$%&'*+-.^_`|~0az", "a"],
    ["Connection: keep-alive", "Connection: keep-alive", "connection", "keep-alive"],
    ["a session token beside the key", "X-Session-Token: ses_1", "x-session-token", "ses_1"],
  ])("with %s", (_what, line, name, value) => {
    expect(readWholeRequest(bytesOf({ more: [line] }))?.headers).toHaveProperty([name], value);
  });

  test("with a body of any bytes, a second request's among them", () => {
    const body = Buffer.concat([bytesOf(), Buffer.from([0, 255, 13, 10])]);
    expect(readWholeRequest(bytesOf({ body }))?.body).toEqual(body);
  });

  test("with the scheme in either of its usual cases", () => {
    const headers = withHeader("Authorization", `authorization: bearer ${key}`);
    expect(readWholeRequest(bytesOf({ headers }))?.key).toBe(key);
  });

  test("up to a head of 4 KiB", () => {
    const room = 4096 - (bytesOf({ more: ["X-Long: "] }).length - 7);
    expect(readWholeRequest(bytesOf({ more: [`X-Long: ${"x".repeat(room)}`] }))).toBeDefined();
    expect(readWholeRequest(bytesOf({ more: [`X-Long: ${"x".repeat(room + 1)}`] }))).toBeUndefined();
  });
});

describe("what is not plain is left to Node's parser", () => {
  test.each([
    `GET /t/${id} HTTP/1.1`,
    `PUT /t/${id} HTTP/1.1`,
    `post /t/${id} HTTP/1.1`,
    `POST /t/${id} HTTP/1.0`,
    `POST /t/${id} HTTP/1.2`,
    `POST /t/${id} HTTP/2.0`,
    `POST /t/${id} http/1.1`,
    `POST /t/${id}`,
    `POST  /t/${id} HTTP/1.1`,
    `POST /t/${id}  HTTP/1.1`,
    `POST /t/${id} HTTP/1.1 `,
    `POST\t/t/${id} HTTP/1.1`,
    ` ${plainLine}`,
    `\r\n${plainLine}`,
    `\n${plainLine}`,
    `POST t/${id} HTTP/1.1`,
    `POST http://localhost/t/${id} HTTP/1.1`,
    `POST /T/${id} HTTP/1.1`,
    `POST /t/${id.toUpperCase()} HTTP/1.1`,
    `POST /t/${id.slice(1)} HTTP/1.1`,
    `POST /t/${id}0 HTTP/1.1`,
    "POST /t/0192f1c3-a5b8-7abc-8def-0123456789ab HTTP/1.1",
    "POST /t/nothing HTTP/1.1",
    "POST /t/ HTTP/1.1",
    `POST /t/${id}/ HTTP/1.1`,
    `POST /t/${id}/claim/ HTTP/1.1`,
    `POST /t/${id}? HTTP/1.1`,
    `POST /t/${id}?a=1 HTTP/1.1`,
    `POST /t/${id}#a HTTP/1.1`,
    `POST /t/${id};a=1 HTTP/1.1`,
    `POST /t/%30${id.slice(1)} HTTP/1.1`,
    `POST /%74/${id} HTTP/1.1`,
    `POST /t/${id}\0 HTTP/1.1`,
    `POST /t/${id}\r HTTP/1.1`,
    `POST /t/../t/${id} HTTP/1.1`,
    "POST /p/ HTTP/1.1",
    "POST /p/. HTTP/1.1",
    "POST /p/.. HTTP/1.1",
    "POST /p/a/ HTTP/1.1",
    "POST /p/a/b HTTP/1.1",
    "POST /p/a%20b HTTP/1.1",
    "POST /p/a;b HTTP/1.1",
    "POST /p?a=1 HTTP/1.1",
    "POST /P/a HTTP/1.1",
    "POST /q/a HTTP/1.1",
    `POST /p/${"x".repeat(129)} HTTP/1.1`,
  ])("the request line %j", (line) => {
    expect(readWholeRequest(bytesOf({ line }))).toBeUndefined();
  });

  test.each([
    "Transfer-Encoding: chunked",
    "transfer-encoding:",
    "Expect: 100-continue",
    "Upgrade: websocket",
    "Trailer: x-a",
    "TE: trailers",
    "Connection: close",
    "Connection: Keep-Alive",
    "Connection: keep-alive, close",
    "Connection: upgrade",
    "Connection:",
    "Proxy-Connection: close",
    "Proxy-Connection: keep-alive",
    "Host: localhost",
    "hOST: elsewhere",
    `Authorization: Bearer ${key}`,
    "content-type: application/json",
    "CONTENT-LENGTH: 7",
    "X-A: 1\r\nX-A: 1",
    "X-A: 1\r\nx-a: 2",
    "Set-Cookie: a=1\r\nset-cookie: b=2",
    "constructor: x",
    "__proto__: x",
    "X-A: 1\r\n folded",
    "X-A: 1\r\n\tfolded",
    "X-A: 1\nX-B: 2",
    "X-A: 1\rX-B: 2",
    "X-A: 1\r",
    "X-A: a\0b",
    "X-A: a\x01b",
    "X-A: a\x7fb",
    "X-A\0: a",
    "X-A : a",
    "X-A\t: a",
    " X-A: a",
    ": a",
    "X A: a",
    "X(A): a",
    "X-\u00e9: a",
    "no colon",
  ])("the header lines %j", (line) => {
    expect(readWholeRequest(bytesOf({ more: [line] }))).toBeUndefined();
  });

  test.each(["hasownproperty", "valueof", "tostring", "prototype", "length"])(
    "but not the header %s, which no object has in lower case",
    (name) => {
      expect(readWholeRequest(bytesOf({ more: [`${name}: x`] }))?.headers).toHaveProperty([name], "x");
    },
  );

  test.each<[string, Parts]>([
    ["no host", { headers: withHeader("Host", undefined) }],
    ["no content type", { headers: withHeader("Content-Type", undefined) }],
    ["no key", { headers: withHeader("Authorization", undefined) }],
    ["no content length", { length: null }],
    ["no body and no length", { length: null, body: "" }],
    ["no headers", { headers: [], length: null }],
  ])("%s", (_what, parts) => {
    expect(readWholeRequest(bytesOf(parts))).toBeUndefined();
  });

  test.each([
    "text/plain",
    "application/json; charset=utf-8",
    "application/json;",
    "Application/JSON",
    "application/jsonp",
    "application/json, text/plain",
    "",
  ])("the content type %j", (type) => {
    const headers = withHeader("Content-Type", `Content-Type: ${type}`);
    expect(readWholeRequest(bytesOf({ headers }))).toBeUndefined();
  });

  test.each([
    key,
    `Basic ${key}`,
    `BEARER ${key}`,
    `Bearer  ${key}`,
    `Bearer\t${key}`,
    `Bearer ${key}0`,
    `Bearer ${key.slice(0, -1)}`,
    `Bearer ${key.toUpperCase()}`,
    `Bearer ${key}, Bearer ${key}`,
    `Bearer ses_${"0f".repeat(32)}`,
    "Bearer ",
    "",
  ])("the credential %j", (credential) => {
    const headers = withHeader("Authorization", `Authorization: ${credential}`);
    expect(readWholeRequest(bytesOf({ headers }))).toBeUndefined();
  });

  test("a session token in place of the key", () => {
    const headers = withHeader("Authorization", `X-Session-Token: ses_${"0f".repeat(32)}`);
    expect(readWholeRequest(bytesOf({ headers }))).toBeUndefined();
  });

  test.each(["+7", "-7", "07", "7.0", "7e0", "0x7", "7, 7", "7 7", "6", "8", "70", "0", "", "9".repeat(30)])(
    "a length of %j for a body of 7",
    (length) => {
      expect(readWholeRequest(bytesOf({ length: `Content-Length: ${length}` }))).toBeUndefined();
    },
  );

  test("an empty body", () => {
    expect(readWholeRequest(bytesOf({ body: "" }))).toBeUndefined();
  });

  test.each(["\r\n", " ", "\0", "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n", bytesOf().toString("latin1")])(
    "a request with %j behind it",
    (behind) => {
      expect(readWholeRequest(bytesOf({ behind }))).toBeUndefined();
    },
  );

  test("every beginning of a request", () => {
    const whole = bytesOf();
    for (let length = 0; length < whole.length; length++) {
      expect([length, readWholeRequest(whole.subarray(0, length))]).toEqual([length, undefined]);
    }
  });

  test("lines that end with a line feed alone", () => {
    const bare = bytesOf().toString("latin1").replaceAll("\r\n", "\n");
    expect(readWholeRequest(Buffer.from(bare, "latin1"))).toBeUndefined();
  });
});

test.each([
  ["blanks in a header", `POST /t/${id} HTTP/1.1\r\na: ${" \t".repeat(2000)}`],
  ["blanks before a NUL", `POST /t/${id} HTTP/1.1\r\na:${" ".repeat(4000)}\0\r\n`],
  ["blanks in a value", `POST /t/${id} HTTP/1.1\r\na: b${" ".repeat(4000)}\0\r\n`],
  ["blanks behind a value", `POST /t/${id} HTTP/1.1\r\na: b${" ".repeat(4000)}\r\n\r\n`],
  ["a long name", `POST /t/${id} HTTP/1.1\r\n${"a".repeat(4000)}`],
  ["many slashes", `POST ${"/".repeat(4000)}`],
  ["many ids", `POST ${`/${id}`.repeat(120)}`],
  ["a long name of a customer", `POST /p/${"a".repeat(4000)}`],
  ["many short headers", `POST /t/${id} HTTP/1.1\r\n${"a:\r\n".repeat(1000)}`],
])(
  "no head takes long to read: %s",
  (_what, text) => {
    // The square of their lengths would take longer than a test may.
    const bytes = Buffer.from(text, "latin1");
    for (let count = 0; count < 10_000; count++) expect(readWholeRequest(bytes) === undefined).toBe(true);
  },
  60_000,
);

describe("a connection's requests, one after the other", () => {
  const piece = fc
    .record({
      path: fc.constantFrom(`t/${id}`, `e/${id}`, "p", "p/a"),
      body: fc.constantFrom('{"a":1}', '{"a":2}', '{"a":22}', "1", "", '"GET / HTTP/1.1\r\n\r\n"'),
      more: fc.constantFrom([], ["X-Event-Type: a"], ["X-Event-Type: b"], ["Expect: 100-continue"]),
      behind: fc.constantFrom("", "", "", "x"),
      cutAt: fc.constantFrom(0, 0, 0, 1, 60),
    })
    .map(({ path, body, more, behind, cutAt }) => {
      const bytes = bytesOf({ line: `POST /${path} HTTP/1.1`, body, more, behind });
      return bytes.subarray(0, bytes.length - cutAt);
    });

  test("are read as each would be by itself, whatever came before", () => {
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 40 }), (pieces) => {
        const read = createRequestReader();
        // As from a socket, which uses its memory again.
        const memory = Buffer.alloc(4096);
        for (const bytes of pieces) {
          const length = bytes.copy(memory);
          const request = read(memory.subarray(0, length));
          expect(request).toEqual(readWholeRequest(bytes));
        }
      }),
      { seed: 1, numRuns: 300 },
    );
  });
});
