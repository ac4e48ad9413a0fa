import type { Readable, Writable } from "node:stream";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { callByHttp } from "./callByHttp.ts";
import { CallsUnderWay } from "./callsUnderWay.ts";
import { createToolServer } from "./toolServer.ts";

/** Which service the tools call, and with which API key. */
export interface StdioService {
  url: string;
  key: string;
}

/**
 * Reads where the service is from `POSTRIDER_URL` and `POSTRIDER_KEY`.
 * @throws {Error} with a sentence for a person when one of them is missing or malformed.
 */
export function readStdioService(env: Readonly<Record<string, string | undefined>>): StdioService {
  const { POSTRIDER_URL: url = "", POSTRIDER_KEY: key = "" } = env;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new Error("POSTRIDER_URL must say where the service is, such as https://postrider.example.com");
  }
  if (!/^ak_live_[0-9a-f]{64}$/.test(key)) {
    throw new Error(
      "POSTRIDER_KEY must be an API key, such as the dashboard makes: ak_live_ and 64 characters",
    );
  }
  return { url, key };
}

/**
 * Serves the tools over a pair of streams until the first ends or `stopping` aborts. Calls that are under way then are
 * given up: what they claimed is given back before this resolves.
 */
export async function serveStdio(
  service: StdioService,
  streams: { input: Readable; output: Writable },
  stopping: AbortSignal,
): Promise<void> {
  const calls = new CallsUnderWay();
  const mcp = createToolServer({ callInterface: callByHttp(service), calls, client: "stdio" });
  const over = new Promise<void>((resolve) => {
    for (const event of ["end", "close", "error"]) streams.input.once(event, resolve);
    // Whoever closes the other end reads no answer.
    streams.output.once("error", () => resolve());
    if (stopping.aborted) resolve();
    else stopping.addEventListener("abort", () => resolve(), { once: true });
  });
  await mcp.connect(new StdioServerTransport(streams.input, streams.output));
  await over;
  await calls.giveUpAll("stdio");
  await mcp.close();
}
