import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answer } from "./api.ts";
import { runBilling } from "./billingCycle.ts";
import { type Control, control } from "./control.ts";
import { takeFault } from "./faults.ts";
import { parseForm } from "./formBody.ts";
import { createWorld, nowOf, Refusal, type World } from "./world.ts";

/*
 * A stand-in for the payment processor that speaks its wire format, as a separate program: `node
 * server/test/support/stripeStandIn/main.ts [port]` listens on 127.0.0.1 and prints its port in one line of JSON.
 * Each secret key (sk_…) has a separate account. Tests control an account by POSTing JSON to `/_control` with its
 * key.
 */

const worlds = new Map<string, World>();
const rememberedSeconds = 24 * 3_600;

const port = Number(process.argv.slice(2).find((text) => /^\d+$/.test(text)) ?? 0);

const server = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => {
    send(response, 500, { error: { type: "api_error", message: String(error) } });
  });
});
server.keepAliveTimeout = 60_000;
server.listen(port, "127.0.0.1", () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
});
// In tests, a parent that dies closes the pipe, and this process ends.
if (process.argv.includes("--until-stdin-ends")) {
  process.stdin
    .on("end", () => {
      server.close();
      server.closeAllConnections();
    })
    .resume();
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString("utf8");
  const key = /^Bearer (sk_\w+)$/.exec(request.headers.authorization ?? "")?.[1];
  if (key === undefined) {
    send(response, 401, {
      error: { type: "invalid_request_error", message: "You did not provide an API key." },
    });
    return;
  }
  const world = worlds.get(key) ?? createWorld();
  worlds.set(key, world);
  const url = new URL(request.url ?? "/", "http://stand-in");
  if (url.pathname === "/_control") {
    await answerWith(response, () => control(world, JSON.parse(body) as Control));
    return;
  }
  runBilling(world);
  world.inFlight++;
  try {
    await answerCall(world, request, response, { url, body });
  } finally {
    world.inFlight--;
  }
}

async function answerCall(
  world: World,
  request: IncomingMessage,
  response: ServerResponse,
  { url, body }: { url: URL; body: string },
): Promise<void> {
  const method = request.method ?? "GET";
  const name = `${method} ${url.pathname}`;
  world.requests[name] = (world.requests[name] ?? 0) + 1;
  const fault = takeFault(world, name);
  switch (fault) {
    case "reset":
      request.socket.destroy();
      return;
    case "hang_before":
      return;
    case "error_before":
      send(response, 500, { error: { type: "api_error", message: "An unknown error occurred" } });
      return;
    case "gateway_200":
      send(response, 200, {});
      return;
    case "gateway_502":
      send(response, 502, { message: "Bad Gateway" });
      return;
    case "limit":
      send(response, 429, {
        error: { type: "invalid_request_error", code: "rate_limit", message: "Too many requests" },
      });
      return;
    case "slow":
      await new Promise((resolve) => setTimeout(resolve, 20));
      break;
    case "lose":
    case "hang_after":
    case "error_after":
    case undefined:
  }
  const params = parseForm(method === "POST" ? body : url.search.slice(1));
  const result = await remembered(world, request, `${name} ${body}`, async () => {
    const answered = await settle(() => answer(world, method, url.pathname, params));
    if (fault !== "error_after") return answered;
    return {
      status: 500,
      body: JSON.stringify({ error: { type: "api_error", message: "An unknown error occurred" } }),
    };
  });
  if (fault === "lose") {
    request.socket.destroy();
    return;
  }
  if (fault === "hang_after") return;
  response.writeHead(result.status, { "content-type": "application/json", "request-id": "req_stand_in" });
  response.end(result.body);
}

interface Answer {
  status: number;
  body: string;
}

/** Answers a repeated idempotency key with the first answer, whatever it was. */
async function remembered(
  world: World,
  request: IncomingMessage,
  call: string,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const key = request.headers["idempotency-key"];
  if (typeof key !== "string") return work();
  const fingerprint = createHash("sha256").update(call).digest("hex");
  const known = world.answers.get(key);
  if (known !== undefined && known.at > nowOf(world) - rememberedSeconds) {
    if (known.fingerprint === fingerprint) return known;
    const message =
      "Keys for idempotent requests can only be used with the same parameters they were first used with.";
    return { status: 400, body: JSON.stringify({ error: { type: "idempotency_error", message } }) };
  }
  const answered = await work();
  if (answered.status !== 429) world.answers.set(key, { fingerprint, at: nowOf(world), ...answered });
  return answered;
}

async function answerWith(response: ServerResponse, work: () => Promise<object>): Promise<void> {
  const { status, body } = await settle(work);
  response.writeHead(status, { "content-type": "application/json" });
  response.end(body);
}

async function settle(work: () => Promise<object>): Promise<Answer> {
  try {
    return { status: 200, body: JSON.stringify(await work()) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return {
      status: error.status,
      body: JSON.stringify({ error: { message: error.message, ...error.fields } }),
    };
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
