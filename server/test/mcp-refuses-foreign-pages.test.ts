import { describe, expect } from "vitest";
import { openApi } from "./support/contract.ts";
import type { Answer } from "./support/testNode.ts";
import { file, nodeTest } from "./support/fixtures.ts";

const it = nodeTest({
  POSTRIDER_PUBLIC_URL: "https://hooks.example.com",
  POSTRIDER_MCP_HOSTS: "postrider, Agents.internal",
}).extend(
  "post",
  file,
  ({ node, account }) =>
    (headers: Record<string, string> = {}, body: unknown = list): Promise<Answer> =>
      node.call("POST", "/mcp", { key: account.api_key, headers: { accept, ...headers }, body }),
);

const accept = "application/json, text/event-stream";
const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };

describe("POST /mcp", () => {
  it.for([
    "localhost:8080",
    "127.0.0.1:8080",
    "[::1]:8080",
    "10.1.2.3",
    "hooks.example.com",
    "HOOKS.example.com:443",
    "postrider:8080",
    "agents.internal",
    // As the URL parser reads them.
    "localhost.",
    "127.1",
    "%6cocalhost",
  ])("is served under the Host %s", async (host, { post }) => {
    expect((await post({ host })).status).toBe(200);
  });

  it.for([
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.nip.example",
    "localhost%2eevil.example",
    "hooks.example.com.evil",
  ])(
    "is refused under the Host %s, because any DNS name could resolve to this address",
    async (host, { post }) => {
      const { status, headers } = await post({ host });
      expect([status, headers["x-error-code"]]).toEqual([403, "host_refused"]);
    },
  );

  it("is served to pages of its own origin, and to clients without an Origin", async ({ post }) => {
    for (const origin of ["https://hooks.example.com", "http://localhost:3000"]) {
      expect((await post({ host: "localhost", origin })).status).toBe(200);
    }
    expect((await post({ host: "localhost" })).status).toBe(200);
  });

  it.for(["https://evil.example", "null", "", "https://hooks.example.com.evil.example", "file://"])(
    'is refused to pages of "%s"',
    async (origin, { post }) => {
      const { status, headers } = await post({ host: "localhost", origin });
      expect([status, headers["x-error-code"]]).toEqual([403, "origin_refused"]);
    },
  );

  it("refuses what is not a message, a batch and a client that does not accept JSON, and has no stream", async ({
    post,
    node,
    account,
  }) => {
    expect((await post({}, [list])).status).toBe(400);
    expect((await post({}, { jsonrpc: "2.0" })).status).toBe(400);
    expect((await post({}, { ...list, id: {} })).status).toBe(400);
    expect((await post({ accept: "text/html" })).status).toBe(406);
    expect((await post({ host: "a b" })).status).toBe(400);
    for (const method of ["GET", "DELETE"] as const) {
      const { status, headers } = await node.call(method, "/mcp", { key: account.api_key });
      expect([status, headers["allow"]]).toEqual([405, "POST"]);
    }
  });

  it("answers an unsupported protocol version and a client that does not accept JSON with a JSON-RPC error", async ({
    post,
  }) => {
    for (const [status, headers] of [
      [400, { "mcp-protocol-version": "1999-01-01" }],
      [406, { accept: "text/html" }],
    ] as const) {
      const answer = await post(headers);
      expect(answer.status).toBe(status);
      expect(answer.body).toEqual({
        jsonrpc: "2.0",
        id: 1,
        error: { code: -32000, message: expect.any(String) },
      });
    }
  });

  it("declares tools without change notifications, which it does not send", async ({ post }) => {
    const params = {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "a", version: "1" },
    };
    const { body } = await post({}, { jsonrpc: "2.0", id: 1, method: "initialize", params });
    expect(body.result.capabilities).toEqual({ tools: {} });
  });

  it("answers a notification with 202 and an empty body, as its document says", async ({ post }) => {
    const { status, body } = await post({}, { jsonrpc: "2.0", method: "notifications/initialized" });
    expect([status, body]).toEqual([202, undefined]);
    expect(openApi.paths["/mcp"]!["post"]!.responses["202"]).not.toHaveProperty("content");
  });
});
