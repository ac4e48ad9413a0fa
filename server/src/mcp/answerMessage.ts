import type { IncomingHttpHeaders } from "node:http";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { createToolServer, type ToolServerDeps } from "./toolServer.ts";

/** A message of JSON-RPC that came by POST, and on whose behalf it is answered. */
export interface PostedMessage extends ToolServerDeps {
  body: unknown;
  headers: IncomingHttpHeaders;
}

/** What is sent back: JSON, nothing with 202, or the reason of a refusal. */
export interface MessageAnswer {
  status: number;
  text: string;
}

/** Answers one message by a server of its own: nothing is kept from one request to the next. */
export async function answerMessage({ body, headers, ...deps }: PostedMessage): Promise<MessageAnswer> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  const mcp = createToolServer(deps);
  try {
    await mcp.connect(transport);
    const request = new Request("http://localhost/mcp", { method: "POST", headers: relevant(headers) });
    const response = await transport.handleRequest(request, { parsedBody: body });
    const text = await response.text();
    return { status: response.status, text: response.ok ? text : reasonOf(text) };
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

function reasonOf(text: string): string {
  const { error } = JSON.parse(text) as { error?: { message?: unknown } };
  return typeof error?.message === "string" ? error.message : "the message was refused";
}
