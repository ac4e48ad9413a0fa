import { once } from "node:events";
import http, { type IncomingMessage } from "node:http";
import { gunzipSync } from "node:zlib";
import { describe, expect } from "vitest";
import { createMailbox } from "./support/mailbox.ts";
import { sharedNodeTest } from "./support/fixtures.ts";

interface Answer {
  headers: IncomingMessage["headers"];
  bytes: Buffer;
}

const it = sharedNodeTest({ POSTRIDER_ROLES: "api" })
  /** Sends a request without the headers that a client library would add, and without decoding the answer. */
  .extend(
    "ask",
    ({ account, url }) =>
      async (path: string, acceptEncoding?: string, method = "GET"): Promise<Answer> => {
        const request = http.request(new URL(path, url), {
          method,
          headers: {
            authorization: `Bearer ${account.api_key}`,
            ...(acceptEncoding !== undefined && { "accept-encoding": acceptEncoding }),
          },
        });
        request.end();
        const [response] = (await once(request, "response")) as [IncomingMessage];
        const chunks = await response.toArray();
        expect(response.statusCode).toBe(200);
        return { headers: response.headers, bytes: Buffer.concat(chunks) };
      },
  );

/** Lists of ten mailboxes are longer than 1 KiB. */
it.beforeAll(async ({ node, account }) => {
  await Promise.all(Array.from({ length: 10 }, () => createMailbox(node, {}, account)));
});

describe("an answer of more than 1 KiB", () => {
  it("is compressed for a client that accepts gzip, with the same content", async ({ ask }) => {
    const plain = await ask("/api/v1/targets");
    const compressed = await ask("/api/v1/targets", "br, gzip");
    expect(plain.headers).not.toHaveProperty("content-encoding");
    expect(compressed.headers).toMatchObject({
      "content-encoding": "gzip",
      "content-length": String(compressed.bytes.length),
    });
    expect(compressed.bytes.length).toBeLessThan(plain.bytes.length / 2);
    expect(gunzipSync(compressed.bytes)).toEqual(plain.bytes);
  });

  it.for(["", "identity", "br", "gzip;q=0", "*;q=0", "gzip;q=0, *"])(
    "is not compressed for Accept-Encoding: %j",
    async (accepted, { ask }) => {
      const { headers, bytes } = await ask("/api/v1/targets", accepted);
      expect(headers).not.toHaveProperty("content-encoding");
      expect(JSON.parse(bytes.toString())).toHaveProperty("targets");
    },
  );

  it.for(["gzip", "GZIP", "gzip;q=0.5, identity", "*", "deflate , gzip; q=1"])(
    "is compressed for Accept-Encoding: %j",
    async (accepted, { ask }) => {
      expect((await ask("/api/v1/targets", accepted)).headers).toHaveProperty("content-encoding", "gzip");
    },
  );

  it("has a Vary header, compressed or not", async ({ ask }) => {
    expect((await ask("/api/v1/targets", "gzip")).headers).toHaveProperty("vary", "Accept-Encoding");
    expect((await ask("/api/v1/targets")).headers).toHaveProperty("vary", "Accept-Encoding");
  });

  it("has the same headers for HEAD", async ({ ask }) => {
    const [get, head] = [await ask("/api/v1/targets", "gzip"), await ask("/api/v1/targets", "gzip", "HEAD")];
    const { "content-encoding": encoding, "content-length": length } = get.headers;
    expect(head.headers).toMatchObject({ "content-encoding": encoding, "content-length": length });
    expect(head.bytes).toHaveLength(0);
  });
});

it("does not compress a short answer", async ({ ask }) => {
  const { headers } = await ask("/api/v1/orgs", "gzip");
  expect(headers).not.toHaveProperty("content-encoding");
  expect(headers).not.toHaveProperty("vary");
});

it("does not compress an answer that is not JSON", async ({ ask }) => {
  expect((await ask("/metrics", "gzip")).headers).not.toHaveProperty("content-encoding");
});
