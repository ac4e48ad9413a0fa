import type { IncomingHttpHeaders } from "node:http";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { createToolServer, type ToolServerDeps } from "./toolServer.ts";

/** A JSON-RPC message of a POST request, with the client for which it is answered. */
export interface PostedMessage extends ToolServerDeps {
  body: unknown;
  headers: IncomingHttpHeaders;
}

/**
 * Answers one message with a new MCP server: no state is kept from one request to the next.
 * @returns the status and the JSON of the answer; no JSON with 202. A refusal is a JSON-RPC error.
 */
export async function answerMessage({ body, headers, ...deps }: PostedMessage) {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  const mcp = createToolServer(deps);
  try {
    await mcp.connect(transport);
    const request = new Request("http://localhost/mcp", { method: "POST", headers: relevant(headers) });
    const response = await transport.handleRequest(request, { parsedBody: body });
    return { status: response.status, text: withId(await response.text(), response.ok, body) };
  } finally {
    await mcp.close();
  }
}

function relevant(headers: IncomingHttpHeaders): [string, string][] {
  return ["accept", "content-type", "mcp-protocol-version"].flatMap((name): [string, string][] => {
    const value = headers[name];
    return typeof value === "string" ? [[name, value]] : [];
  });
}

/** Adds the request's id to an error of the transport, which has none: the client matches answers by their id. */
function withId(text: string, isOk: boolean, body: unknown): string {
  if (isOk) return text;
  const { id } = body as { id?: unknown };
  const isNamed = typeof id === "string" || typeof id === "number";
  return JSON.stringify({ ...(JSON.parse(text) as object), id: isNamed ? id : null });
}
