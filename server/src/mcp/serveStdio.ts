import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallsInFlight } from "./callsInFlight.ts";
import { createToolServer } from "./toolServer.ts";
import { setTimeout as pause } from "node:timers/promises";
import {
  type CallInterface,
  CallRefusedError,
  headersOf,
  type InterfaceCall,
  pathOf,
  successful,
} from "./interfaceCall.ts";

/**
 * `postrider mcp`: serves the tools over standard input and output to the agent that started this process. The tools call the
 * service that `POSTRIDER_URL` and `POSTRIDER_KEY` name; `bin/load.cjs` sets both from the options or a profile.
 * Ends when the input ends, or at SIGINT or SIGTERM. Calls in progress are then canceled, and the messages that they claimed are
 * released before the promise resolves.
 * @throws {Error} with a readable message when one of the two variables is missing or malformed.
 */
export async function serveStdio({
  env,
  stdin,
  stdout,
}: Pick<NodeJS.Process, "env" | "stdin" | "stdout">): Promise<void> {
  const calls = new CallsInFlight();
  const mcp = createToolServer({ callInterface: callByHttp(readService(env)), calls, client: "stdio" });
  const over = new Promise<void>((resolve) => {
    const end = (): void => resolve();
    process.once("SIGINT", end).once("SIGTERM", end);
    for (const event of ["end", "close", "error"]) stdin.once(event, end);
    // EPIPE: the client has closed its end, so that no answer can reach it.
    stdout.once("error", end);
  });
  await mcp.connect(new StdioServerTransport(stdin, stdout));
  await over;
  await calls.giveUpAll("stdio");
  await mcp.close();
  stdin.destroy();
}

/** The service that the tools call, and the API key. */
interface Service {
  url: string;
  key: string;
}

function readService(env: NodeJS.ProcessEnv): Service {
  const { POSTRIDER_URL: url = "", POSTRIDER_KEY: key = "" } = env;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new Error("POSTRIDER_URL must be the URL of the service, such as https://postrider.example.com");
  }
  if (!/^ak_live_[0-9a-f]{64}$/.test(key)) {
    throw new Error("POSTRIDER_KEY must be an API key: ak_live_ and 64 hexadecimal characters");
  }
  return { url, key };
}

const maxAttempts = 4;
const firstWaitMs = 500;
/** If the service asks for a longer wait than this, the agent gets the refusal at once. */
const maxWaitMs = 10_000;
/** Longer than a claim, which waits up to 20 s. */
const timeoutMs = 45_000;

/** Calls a service over HTTP. Retries requests that certainly had no effect, and other requests if they are repeatable. */
function callByHttp(service: Service): CallInterface {
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

/** `waitMs` is the wait that the service asks for; undefined when a retry cannot help or could have an effect twice. */
type Outcome = { answer: Buffer } | { refusal: CallRefusedError; waitMs: number | undefined };

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
    const code = response.headers.get("x-error-code") ?? undefined;
    return { answer: successful(response.status, bytes, code) };
  } catch (error) {
    return { refusal: error as CallRefusedError, waitMs: waitAfter(response, call.isRepeatable) };
  }
}

function waitAfter({ status, headers }: Response, isRepeatable: boolean): number | undefined {
  if (headers.get("x-error-code") === "outcome_unknown" && !isRepeatable) return undefined;
  const stated = headers.get("retry-after");
  if ((status === 429 || status === 503) && stated !== null && /^\d{1,6}$/.test(stated)) {
    return Number(stated) * 1000;
  }
  return isRepeatable && [408, 502, 504].includes(status) ? 0 : undefined;
}
