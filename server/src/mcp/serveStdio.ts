import type { Readable, Writable } from "node:stream";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallsUnderWay } from "./callsUnderWay.ts";
import { createToolServer } from "./toolServer.ts";
import { setTimeout as pause } from "node:timers/promises";
import {
  type CallInterface,
  CallRefusedError,
  headersOf,
  type InterfaceAnswer,
  type InterfaceCall,
  pathOf,
  successful,
} from "./interfaceCall.ts";

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
    // The client closed its end (EPIPE): no answer can reach it.
    streams.output.once("error", () => resolve());
    if (stopping.aborted) resolve();
    else stopping.addEventListener("abort", () => resolve(), { once: true });
  });
  await mcp.connect(new StdioServerTransport(streams.input, streams.output));
  await over;
  await calls.giveUpAll("stdio");
  await mcp.close();
}

const maxAttempts = 4;
const firstWaitMs = 500;
/** An agent that waits longer than this for a refusal is better told. */
const maxWaitMs = 10_000;
/** Claims wait up to 20 s. */
const timeoutMs = 45_000;

/** Calls a service elsewhere. Attempts that surely did nothing are repeated, and others where that is harmless. */
function callByHttp(service: { url: string; key: string }): CallInterface {
  const base = service.url.replace(/\/+$/, "");
  return async (call) => {
    for (let attempt = 1; ; attempt++) {
      const outcome = await attemptOnce(base, service.key, call);
      if ("answer" in outcome) return outcome.answer;
      call.signal.throwIfAborted();
      if (attempt >= maxAttempts || outcome.waitMs === undefined || outcome.waitMs > maxWaitMs) {
        throw outcome.refusal;
      }
      const waitMs = Math.max(outcome.waitMs, firstWaitMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2));
      await pause(waitMs, undefined, { signal: call.signal });
    }
  };
}

/** `waitMs` is how long the service asks to wait; undefined when asking again cannot help or could do a thing twice. */
type Outcome = { answer: InterfaceAnswer } | { refusal: CallRefusedError; waitMs: number | undefined };

async function attemptOnce(base: string, key: string, call: InterfaceCall): Promise<Outcome> {
  let response: Response;
  let bytes: Buffer;
  try {
    response = await fetch(base + pathOf(call), {
      method: call.method,
      headers: { ...headersOf(call), authorization: `Bearer ${key}` },
      signal: AbortSignal.any([call.signal, AbortSignal.timeout(timeoutMs)]),
      redirect: "error",
      ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
    });
    bytes = Buffer.from(await response.arrayBuffer());
  } catch (cause) {
    const refusal = new CallRefusedError(0, "the service could not be reached", { cause });
    return { refusal, waitMs: call.isRepeatable ? 0 : undefined };
  }
  try {
    return { answer: successful(response.status, { bytes, headers: response.headers }) };
  } catch (error) {
    return { refusal: error as CallRefusedError, waitMs: waitAfter(response, call.isRepeatable) };
  }
}

function waitAfter({ status, headers }: Response, isRepeatable: boolean): number | undefined {
  const stated = headers.get("retry-after");
  if ((status === 429 || status === 503) && stated !== null && /^\d{1,6}$/.test(stated)) {
    return Number(stated) * 1000;
  }
  return isRepeatable && [408, 502, 504].includes(status) ? 0 : undefined;
}
