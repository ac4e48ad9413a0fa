import type { IncomingHttpHeaders } from "node:http";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { createToolServer, type ToolServerDeps } from "./toolServer.ts";

/** A message of JSON-RPC that came by POST, and on whose behalf it is answered. */
export interface PostedMessage extends ToolServerDeps {
  body: unknown;
  headers: IncomingHttpHeaders;
}

/**
 * Answers one message by a server of its own: nothing is kept from one request to the next.
 * @returns the status and JSON that are sent back; nothing with 202. A refusal is an error of JSON-RPC.
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

/** An error that the transport itself answers names no request; the client waits for the answer to its own. */
function withId(text: string, isOk: boolean, body: unknown): string {
  if (isOk) return text;
  const { id } = body as { id?: unknown };
  const isNamed = typeof id === "string" || typeof id === "number";
  return JSON.stringify({ ...(JSON.parse(text) as object), id: isNamed ? id : null });
}
