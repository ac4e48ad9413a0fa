import { describe, expect, test } from "vitest";
import { headersOf, plainId as id, plainKey as key } from "../../../test/support/plainRequest.ts";
import { type FastHead, type Head, readHead } from "./readHead.ts";

const url = `/t/${id}`;
const plain: string[] = [
  ["Host", "localhost"],
  ["Authorization", `Bearer ${key}`],
  ["Content-Type", "application/json"],
  ["Content-Length", "7"],
].flat();

function read(rawHeaders: string[], more: Partial<Head> = {}): FastHead | undefined {
  const headers = headersOf(rawHeaders);
  return readHead({ httpVersion: "1.1", method: "POST", url, headers, rawHeaders, ...more });
}

/** The plain headers with the value of one header replaced; undefined leaves the header out. */
function withHeader(name: string, value: string | undefined): string[] {
  const at = plain.indexOf(name);
  const replaced = value === undefined ? [] : [name, value];
  return [...plain.slice(0, at), ...replaced, ...plain.slice(at + 2)];
}

describe("readHead reads a plain head", () => {
  test("with its path, id, key, headers and length", () => {
    expect(read([...plain, "X-Event-Type", "order.paid"])).toEqual({
      path: "/t/:id",
      id,
      key,
      headers: {
        host: "localhost",
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "content-length": "7",
        "x-event-type": "order.paid",
      },
      bodyBytes: 7,
    });
  });

  test.each([
    [`/e/${id}`, "/e/:id", id],
    [`/api/v1/mailboxes/${id}/claim`, "/api/v1/mailboxes/:id/claim", id],
    [`/api/v1/mailbox-messages/${id}/ack`, "/api/v1/mailbox-messages/:id/ack", id],
    ["/p", "/p", ""],
    ["/p/customer-4711", "/p/:id", "customer-4711"],
    ["/p/A.b_c:9", "/p/:id", "A.b_c:9"],
    [`/p/${"x".repeat(128)}`, "/p/:id", "x".repeat(128)],
    [`/p/${id}`, "/p/:id", id],
  ])("with the id or the customer taken out of %s", (path, name, named) => {
    expect(read(plain, { url: path })).toMatchObject({ path: name, id: named });
  });

  test.each([
    ["x-CORRELATION-iD", "x-correlation-id", "a"],
    ["X-Event-Type", "x-event-type", ""],
    ["Idempotency-Key", "idempotency-key", "\u00a0\u00e9\u00ff"],
    ["Connection", "connection", "close"],
    ["X-Session-Token", "x-session-token", "ses_1"],
    ["hasownproperty", "hasownproperty", "x"],
  ])("with the header %s", (name, lowered, value) => {
    expect(read([...plain, name, value])?.headers).toHaveProperty([lowered], value);
  });

  test("with the scheme in either of its usual cases", () => {
    expect(read(withHeader("Authorization", `bearer ${key}`))?.key).toBe(key);
  });
});

describe("readHead returns undefined for a head that is not plain", () => {
  test.each(["0.9", "1.0", "2.0"])("the version %s", (httpVersion) => {
    expect(read(plain, { httpVersion })).toBeUndefined();
  });

  test.each(["GET", "PUT", "post"])("the method %s", (method) => {
    expect(read(plain, { method })).toBeUndefined();
  });

  test.each([
    `http://localhost/t/${id}`,
    `t/${id}`,
    `/T/${id}`,
    `/t/${id.toUpperCase()}`,
    `/t/${id.slice(1)}`,
    `/t/${id}0`,
    "/t/0192f1c3-a5b8-7abc-8def-0123456789ab",
    "/t/",
    `/t/${id}/`,
    `/t/${id}/claim/`,
    `/t/${id}?`,
    `/t/${id}?a=1`,
    `/t/${id}#a`,
    `/t/${id};a=1`,
    `/t/%30${id.slice(1)}`,
    `/%74/${id}`,
    `/t/../t/${id}`,
    "/p/",
    "/p/.",
    "/p/..",
    "/p/a/",
    "/p/a/b",
    "/p/a%20b",
    "/p/a;b",
    "/p?a=1",
    "/P/a",
    `/p/${"x".repeat(129)}`,
  ])("the path %s", (path) => {
    expect(read(plain, { url: path })).toBeUndefined();
  });

  test.each([
    ["Transfer-Encoding", "chunked"],
    ["transfer-encoding", ""],
    ["Content-Encoding", "identity"],
    ["Expect", "100-continue"],
    ["Upgrade", "websocket"],
    ["Host", "localhost"],
    ["hOST", "elsewhere"],
    ["Authorization", `Bearer ${key}`],
    ["content-type", "application/json"],
    ["CONTENT-LENGTH", "7"],
    ["__proto__", "x"],
  ])("the additional header %s: %s", (name, value) => {
    expect(read([...plain, name, value])).toBeUndefined();
  });

  test("a repeated header", () => {
    expect(read([...plain, "X-A", "1", "x-a", "2"])).toBeUndefined();
  });

  test.each<[string, string | undefined]>([
    ["Host", undefined],
    ["Host", "a b"],
    ["Content-Type", undefined],
    ["Content-Type", "text/plain"],
    ["Content-Type", "application/json; charset=utf-8"],
    ["Content-Type", "Application/JSON"],
    ["Authorization", undefined],
    ["Authorization", key],
    ["Authorization", `Basic ${key}`],
    ["Authorization", `BEARER ${key}`],
    ["Authorization", `Bearer  ${key}`],
    ["Authorization", `Bearer ${key}0`],
    ["Authorization", `Bearer ${key.slice(0, -1)}`],
    ["Authorization", `Bearer ${key.toUpperCase()}`],
    ["Authorization", `Bearer ${key}, Bearer ${key}`],
    ["Authorization", `Bearer ses_${"0f".repeat(32)}`],
    ["Content-Length", undefined],
    ["Content-Length", "0"],
    ["Content-Length", "+7"],
    ["Content-Length", "07"],
    ["Content-Length", "7.0"],
    ["Content-Length", "7, 7"],
    ["Content-Length", "9".repeat(30)],
  ])("the header %s with the value %s", (name, value) => {
    expect(read(withHeader(name, value))).toBeUndefined();
  });
});

test.each([
  ["many slashes", "/".repeat(4000)],
  ["many ids", `${`/${id}`.repeat(120)}?`],
  ["a long name of a customer", `/p/${"a".repeat(4000)}`],
])("no path takes more than linear time to read: %s", (_what, path) => {
  // With quadratic time, this loop would exceed the time limit of a test.
  for (let count = 0; count < 10_000; count++) expect(read(plain, { url: path }) === undefined).toBe(true);
});
