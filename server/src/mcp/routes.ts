import { clientAddress, clientDisconnected } from "../http/contract/client.ts";
import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Config } from "../config/config.ts";
import { keys } from "../http/contract/access.ts";
import { ApiError } from "../http/contract/errors.ts";
import { type RouteCall, type RouteRecord, routesOf } from "../http/contract/route.ts";
import { everyKey } from "../http/contract/scope.ts";
import { callName, CallsInFlight } from "./callsInFlight.ts";
import { refuseForeignPages } from "./foreignPages.ts";
import { ErrorBody } from "../http/contract/schemas.ts";
import type { GivenUpRelay } from "./givenUpRelay.ts";
import { type CallInterface, headersOf, pathOf, successful } from "./interfaceCall.ts";

const route = routesOf<CallDeps>("Operation");

export interface McpRouteDeps {
  config: Pick<Config, "publicUrl" | "mcpHosts">;
  /** The server that the tools call, which also has this route. */
  app: () => FastifyInstance;
  /** Sends cancellations to the nodes that have the canceled calls. */
  givenUp: GivenUpRelay;
}

type CallDeps = McpRouteDeps & { calls: CallsInFlight };

const description = `The streamable HTTP transport of the Model Context Protocol, with the API key as Bearer token: \
initialize, ping, tools/list and tools/call. Each request gets one JSON response; there is no stream to open \
with GET. The session id in the response to initialize distinguishes the calls of this client from other calls with the same \
key, so that the client can cancel them; the service stores nothing for a session. Batches are refused.`;

const JsonRpcError = Type.Object(
  {
    jsonrpc: Type.Literal("2.0"),
    error: Type.Object({ code: Type.Integer(), message: Type.String() }, { additionalProperties: true }),
    id: Type.Union([Type.String(), Type.Integer(), Type.Null()]),
  },
  { title: "JsonRpcError" },
);

/** The transport's refusals are JSON-RPC errors; the service refuses a body that is no message in its usual form. */
const Refusal = Type.Union([ErrorBody, JsonRpcError]);

/** `POST /mcp`. */
export function mcpRoute(deps: McpRouteDeps): RouteRecord {
  return callRoute({ ...deps, calls: new CallsInFlight() });
}

const callRoute = route("callTools", "POST /mcp", {
  access: keys(everyKey),
  audit: { none: "each request that a tool makes is recorded by itself" },
  summary: "Call the tools for agents (MCP)",
  description,
  headers: Type.Object({
    "mcp-session-id": Type.Optional(
      Type.String({ maxLength: 100, description: "The session id in the response to initialize" }),
    ),
  }),
  body: Type.Object(
    { jsonrpc: Type.Literal("2.0"), method: Type.Optional(Type.String()) },
    { additionalProperties: true, description: "A JSON-RPC message" },
  ),
  response: {
    200: Type.Unsafe<unknown>({
      type: "object",
      properties: { jsonrpc: { type: "string" } },
      additionalProperties: true,
      description: "The response, a JSON-RPC message",
    }),
    202: Type.Null({ description: "The notification was accepted" }),
  },
  answerHeaders: ["Mcp-Session-Id"],
  errorBodies: { 400: Refusal, 406: JsonRpcError },
  errors: {
    400: "The request is malformed, is not a JSON-RPC message, or names a protocol version that is not supported",
    403: "The request comes from a page of another site, or its Host is not a name of the service",
    406: "Accept does not name application/json and text/event-stream",
  },
  handle: (call, deps) => answer(deps, call),
});

/** Refuses GET, which would open a stream, and DELETE, which would end a session: the service has neither. */
export function refuseOtherMethods(app: FastifyInstance): void {
  app.route({
    method: ["GET", "DELETE"],
    url: "/mcp",
    handler: (_request, reply) => {
      void reply.header("allow", "POST");
      throw new ApiError(405, "only POST is allowed here");
    },
  });
}

async function answer(
  deps: CallDeps,
  { request, reply, body }: Pick<RouteCall, "request" | "reply" | "body">,
): Promise<unknown> {
  refuseForeignPages(request.headers, deps.config);
  // Imported at the first call: most services have no agents, and the library is slow to load.
  const { answerMessage } = await import("./answerMessage.ts");
  const message = body as { method?: unknown; id?: unknown };
  const isFirst = message.method === "initialize";
  const given = request.headers["mcp-session-id"];
  // Without a session, no other message can cancel this call; closing its connection still does.
  const session = isFirst || typeof given !== "string" ? randomUUID() : given;
  const client = clientName(request, session);
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) deps.calls.giveUp(callName(client, message.id));
  });
  deps.givenUp.listen((name) => void deps.calls.giveUp(name));
  const answered = await answerMessage({
    body,
    headers: request.headers,
    callInterface: callInProcess(deps.app(), {
      authorization: request.headers.authorization!,
      remoteAddress: clientAddress(request) ?? "unknown",
    }),
    calls: deps.calls,
    client,
    onElsewhere: (name) => deps.givenUp.tell(name),
  });
  if (isFirst) void reply.header("mcp-session-id", session);
  if (answered.status === 202) return reply.code(202).send();
  return reply.code(answered.status).type("application/json; charset=utf-8").send(answered.text);
}

/** A name for the client: clients with the same key differ by their sessions, and a session is valid for one key only. */
function clientName(request: FastifyRequest, session: string): string {
  const { caller } = request;
  return `${caller?.kind === "apiKey" ? caller.keyId : ""} ${session}`;
}

/**
 * Calls this process's own interface through the whole server, but without a socket: credentials, limits and refusals are the
 * same as for any other request.
 */
function callInProcess(
  app: FastifyInstance,
  caller: { authorization: string; remoteAddress: string },
): CallInterface {
  return async (call) => {
    const answer = await clientDisconnected.run(call.signal, () =>
      app.inject({
        method: call.method,
        url: pathOf(call),
        headers: { ...headersOf(call), authorization: caller.authorization },
        remoteAddress: caller.remoteAddress,
        ...(call.body !== undefined && { payload: JSON.stringify(call.body) }),
      }),
    );
    const code = answer.headers["x-error-code"] as string | undefined;
    return successful(answer.statusCode, answer.rawPayload, code);
  };
}
