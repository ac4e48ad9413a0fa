import { describe, expect } from "vitest";
import { createMailboxTarget } from "./support/items.ts";
import { itemBytes, onFastPath, onFrameworkPath } from "./support/plainRequest.ts";
import { openRawConnection, opener, type WireAnswer } from "./support/rawConnection.ts";
import { file, sharedServiceTest } from "./support/fixtures.ts";

/**
 * Refusals have the headers that RFC 9110 and RFC 9112 require, on every path: a route, the fast path or the
 * parser.
 */

const it = sharedServiceTest()
  .extend("open", file, opener)
  .extend("mailbox", file, ({ service, account }) => createMailboxTarget(service, account))
  .extend("exchange", file, ({ service }) => async (request: Buffer | string): Promise<WireAnswer> => {
    const connection = await openRawConnection(service.port);
    await connection.write(request);
    return connection.answer().finally(() => connection.destroy());
  });

function headerOf({ headers }: WireAnswer, wanted: string): string | undefined {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1];
}

const unknownKey = `ak_live_${"0".repeat(64)}`;
const bearer = 'Bearer realm="postrider"';

describe("a 401 names the required credential:", () => {
  it("for an item, on the fast path and in the framework", async ({ exchange, mailbox }) => {
    for (const way of [onFastPath, onFrameworkPath]) {
      const answer = await exchange(way(itemBytes({ targetId: mailbox, key: unknownKey })));
      expect([answer.status, headerOf(answer, "www-authenticate")]).toEqual([401, bearer]);
    }
  });

  it.for(["GET /api/v1/targets", "GET /api/v1/billing", "GET /api/v1/portal", "POST /t/x", "POST /mcp"])(
    "%s",
    async (line, { exchange }) => {
      const answer = await exchange(`${line} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`);
      expect([answer.status, headerOf(answer, "www-authenticate")]).toEqual([401, bearer]);
    },
  );

  it("for a login with a wrong password", async ({ service }) => {
    const body = { email: "nobody@example.com", password: "wrong password" };
    const { status, headers } = await service.call("POST", "/api/v1/auth/login", { body });
    expect([status, headers["www-authenticate"]]).toEqual([401, bearer]);
  });
});

describe("a Host is a name or an address, with or without a port:", () => {
  it.for(["a b", "a/b", "a@b", "a:b", "x?", "[::1", "\u00e9", "a,b c", "%zz"])(
    "%s is refused with 400",
    async (host, { exchange, mailbox, account }) => {
      const answer = await exchange(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect([answer.status, answer.body]).toEqual([400, expect.stringContaining("Host")]);
      const item = itemBytes({ targetId: mailbox, key: account.api_key }).toString("latin1");
      const sent = item.replace(/^host: .*$/im, `Host: ${host}`);
      expect((await exchange(sent)).status).toBe(400);
    },
  );

  it.for(["x", "hooks.example.com:8080", "[::1]:8080", "127.0.0.1", "xn--bcher-kva.example", "a_b", ""])(
    '"%s" is accepted',
    async (host, { exchange }) => {
      const answer = await exchange(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect(answer.status).toBe(200);
    },
  );
});

it("HTTP/1.0 with a Transfer-Encoding is refused, and its connection closed", async ({
  open,
  mailbox,
  account,
}) => {
  const connection = await open();
  await connection.write(
    `POST /t/${mailbox} HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nAuthorization: Bearer ${account.api_key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  );
  const answer = await connection.answer();
  expect([answer.status, headerOf(answer, "connection")]).toEqual([400, "close"]);
  expect(answer.body).toContain("Transfer-Encoding");
  await connection.ended;
});

it.for([
  [400, "GET /\u0001 HTTP/1.1\r\n\r\n"],
  [400, "NONSENSE\r\n\r\n"],
  [404, "CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n"],
  [417, "POST /t/x HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nContent-Length: 2\r\n\r\n"],
  [431, `GET / HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(70_000)}\r\n\r\n`],
  [505, "GET / HTTP/3.0\r\n\r\n"],
] as const)("a refusal %i of the parser has a Date: %s", async ([status, request], { exchange }) => {
  const answer = await exchange(request);
  expect(answer.status).toBe(status);
  expect(new Date(headerOf(answer, "date")!).toUTCString()).toBe(headerOf(answer, "date"));
});

it.for([
  ["a form", "Content-Type: application/x-www-form-urlencoded\r\n", "a=1"],
  ["text that is not JSON", "Content-Type: application/json\r\n", "{a"],
  ["a compressed body", "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", "{}"],
] as const)(
  "an unknown path is answered 404, not with a refusal of its body: %s",
  async ([_form, headers, body], { exchange }) => {
    const length = `Content-Length: ${body.length}\r\n`;
    for (const line of ["POST /nowhere", "PUT /api/v1/targets", "DELETE /api/v1/nothing"]) {
      const answer = await exchange(`${line} HTTP/1.1\r\nHost: x\r\n${headers}${length}\r\n${body}`);
      expect([answer.status, answer.body]).toEqual([404, '{"error":"not found"}']);
    }
  },
);

it("a body with a Content-Encoding is refused with 415, and the answer lists the accepted types", async ({
  exchange,
  mailbox,
  account,
}) => {
  const send = (more: string[]): Promise<WireAnswer> =>
    exchange(itemBytes({ targetId: mailbox, key: account.api_key, more }));
  for (const coding of ["gzip", "br", "identity, gzip", "x"]) {
    const answer = await send([`Content-Encoding: ${coding}`]);
    expect(answer.status).toBe(415);
    expect(headerOf(answer, "accept-encoding")).toBe("identity");
    expect(headerOf(answer, "x-error-code")).toBe("content_encoding_unsupported");
  }
  expect((await send(["Content-Encoding: identity"])).status).toBe(202);
  const other = await exchange(
    itemBytes({ targetId: mailbox, key: account.api_key })
      .toString("latin1")
      .replace("application/json", "text/plain"),
  );
  expect([other.status, headerOf(other, "accept-encoding")]).toEqual([415, undefined]);
});
