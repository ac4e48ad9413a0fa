import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult, JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

const cli = join(import.meta.dirname, "../../bin/postrider.cjs");

/** An agent: the official client, connected. */
export interface Agent {
  client: Client;
  /** Returns a tool's structured answer. @throws {Error} with the text when the tool reports a failure. */
  use(tool: string, input?: Record<string, unknown>, signal?: AbortSignal): Promise<Answered>;
  /** Cancels the last call after its answer was sent, as a client does that receives the answer too late. */
  giveUpLastCall(): Promise<void>;
  /** Process id of an agent over stdio, else null. */
  pid: number | null;
  /** Errors that belong to no call. */
  errors: Error[];
  close(): Promise<void>;
}

// oxlint-disable-next-line typescript/no-explicit-any -- tests assert the content
type Answered = any;

export type Transport = "HTTP" | "stdio";

export interface AgentSurroundings {
  /** Replaces `fetch`, over HTTP. */
  fetch?: typeof fetch;
  /** Arguments and environment of the process, over stdio. */
  args?: readonly string[];
  env?: Record<string, string>;
}

/** Connects over either transport. */
export async function connectAgent(
  transport: Transport,
  baseUrl: string,
  key: string,
  { args = [], env = { POSTRIDER_URL: baseUrl, POSTRIDER_KEY: key }, ...others }: AgentSurroundings = {},
): Promise<Agent> {
  const errors: Error[] = [];
  const client = new Client({ name: "test", version: "1" });
  client.onerror = (error) => errors.push(error);
  const way =
    transport === "HTTP"
      ? new StreamableHTTPClientTransport(new URL("/mcp", baseUrl), {
          requestInit: { headers: { authorization: `Bearer ${key}` } },
          ...others,
        })
      : new StdioClientTransport({
          command: process.execPath,
          args: [cli, "mcp", ...args],
          env,
          stderr: "inherit",
        });
  let lastRequestId: unknown;
  const send = way.send.bind(way);
  way.send = async (message: JSONRPCMessage) => {
    if ("id" in message && "method" in message) lastRequestId = message.id;
    await send(message);
  };
  await client.connect(way);
  // The client validates answers with the tools' output schemas once it has listed the tools.
  await client.listTools();
  return {
    client,
    errors,
    async giveUpLastCall() {
      const params = { requestId: lastRequestId as number };
      await client.notification({ method: "notifications/cancelled", params });
    },
    pid: way instanceof StdioClientTransport ? way.pid : null,
    async use(name, input = {}, signal) {
      const options = signal === undefined ? {} : { signal };
      const call = { name, arguments: input };
      const result = (await client.callTool(call, undefined, options)) as CallToolResult;
      const [content] = result.content;
      const text = content?.type === "text" ? content.text : "";
      if (result.isError === true) throw new Error(text);
      return { ...result.structuredContent, text };
    },
    close: () => client.close(),
  };
}

/** Every tool that an agent has. */
export const toolNames = [
  "ack_messages",
  "answer_handoff",
  "claim_messages",
  "extend_messages",
  "get_event_type",
  "get_item",
  "list_event_types",
  "list_items",
  "list_targets",
  "mailbox_stats",
  "publish",
  "put_event_type",
  "read_publication",
  "reject_messages",
  "release_messages",
  "replay_item",
  "replay_items",
  "send_item",
];
