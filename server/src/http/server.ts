import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type onRequestAsyncHookHandler,
  type onRequestHookHandler,
} from "fastify";
import { authenticate, type Caller, presentedKey } from "./contract/credentials.ts";
import { registerBodyParser } from "./contract/body.ts";
import { toApiError } from "./contract/errorAnswer.ts";
import { ApiError, unauthorized } from "./contract/errors.ts";
import { queryNumbers } from "./contract/queryNumbers.ts";
import { newRequestId } from "./contract/requestId.ts";
import type { Credential } from "./contract/route.ts";
import type { RouteRow, ServerDeps } from "./contract/routeTable.ts";
import { belowPrefix, pathPrefix } from "./pathPrefix.ts";
import { shortRoutes } from "./fast/shortRoutes.ts";
import { openShortWay, type ShortWay } from "./fast/shortWay.ts";
import { answerUnheard, refuseConnection } from "./contract/unheardRequests.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    credential?: Credential;
    rawBody?: boolean;
    anyBody?: boolean;
    missingFields?: string | undefined;
  }
  interface FastifyInstance {
    /** The connections that are not in the server's own list. */
    shortWay?: ShortWay;
  }
  interface FastifyRequest {
    caller: Caller | null;
    /** When the request's headers were complete, by `performance.now()`. */
    startedAtMs: number;
    /** The route's path as declared; the framework's own accessor costs a microsecond a time. */
    routePath: string;
    /** Whether the handler wants the body's bytes in place of parsed JSON. */
    takesRawBody: boolean;
  }
}

/** How long a client may take to send its headers and body before the connection is closed. */
const requestTimeoutMs = 30_000;
/** The part of it that the headers may take. */
const headersTimeoutMs = 15_000;
/** How long a connection may idle between requests. */
const keepAliveMs = 72_000;

/** The HTTP server without routes: limits, request ids, bodies, errors, the request's log line and metrics. */
export function createServer(deps: ServerDeps): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: deps.config.maxBodyBytes,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveMs,
    // One hop: a client could make up any entry but the last, which the proxy itself adds.
    trustProxy: deps.config.trustProxy ? (_address, hop) => hop === 0 : false,
    genReqId: newRequestId,
    requestIdHeader: false,
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: false },
    ajv: {
      customOptions: { coerceTypes: false, removeAdditional: false, allErrors: false, useDefaults: true },
    },
    return503OnClosing: false,
    ...belowPrefix(pathPrefix(deps.config.publicUrl)),
    frameworkErrors: (error, request, reply) => {
      // Hooks do not run for what has no route.
      void reply.header("x-request-id", request.id);
      return answerError(deps, error, request, reply);
    },
    clientErrorHandler: refuseConnection,
    http: {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      // How often the two are enforced; Node's own 30 s would double them.
      connectionsCheckingInterval: 1000,
      // Node would answer a missing Host with an empty body.
      requireHostHeader: false,
    },
  });
  answerUnheard(app.server);
  app.decorateRequest("caller", null);
  app.decorateRequest("startedAtMs", 0);
  app.decorateRequest("routePath", "unknown");
  app.decorateRequest("takesRawBody", false);
  registerBodyParser(app);
  app.addHook("onRequest", (request, reply, done) => {
    request.startedAtMs = performance.now();
    void reply.header("x-request-id", request.id);
    done(lacksHost(request) ? new ApiError(400, "the Host header is missing") : undefined);
  });
  app.addHook("onResponse", (request, reply, done) => {
    const durationMs = performance.now() - request.startedAtMs;
    deps.metrics.observe(request.method, request.routePath, reply.statusCode, durationMs);
    deps.log.request(request, reply.statusCode, durationMs);
    done();
  });
  app.setErrorHandler<FastifyError>((error, request, reply) => answerError(deps, error, request, reply));
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: "not found" }));
  return app;
}

/** RFC 9112, section 3.2. */
function lacksHost({ raw }: FastifyRequest): boolean {
  return raw.headers.host === undefined && raw.httpVersion === "1.1";
}

/**
 * Adds the rows of the interface; each is checked for its credential here and nowhere else, but for requests on the
 * short way, which carry a key for their route to check.
 */
export function addRoutes(app: FastifyInstance, deps: ServerDeps, rows: readonly RouteRow[]): void {
  for (const [method, path, credential, route] of rows) {
    const { summary, description, response, errors: _documented, ...inputs } = route.schema;
    app.route({
      method,
      url: path,
      schema: { ...inputs, response, summary, ...(description && { description }) },
      // A raw body's route reads its inputs itself, on the hot path; its schema is documentation.
      ...(route.rawBody && { validatorCompiler: () => () => true }),
      config: {
        rawBody: route.rawBody === true,
        anyBody: route.anyBody === true,
        credential,
        missingFields: route.missingFields,
      },
      onRequest: [nameRoute(path, route.rawBody === true), ...credentialCheck(deps, credential)],
      preValidation: queryNumbers(inputs.querystring),
      handler: (request, reply) =>
        route.handle({
          body: request.body as never,
          query: request.query as never,
          params: request.params as never,
          caller: request.caller as Caller,
          request,
          reply,
        }),
    });
  }
}

/** Lets the requests of the hot routes past the framework; what the server's closing means for them goes along. */
export function addShortWay(app: FastifyInstance, deps: ServerDeps, rows: readonly RouteRow[]): void {
  app.shortWay = openShortWay(app.server, {
    routes: shortRoutes(deps, rows),
    firstRequestMs: headersTimeoutMs,
    idleMs: keepAliveMs,
  });
}

function nameRoute(path: string, takesRawBody: boolean): onRequestHookHandler {
  return (request, _reply, done) => {
    request.routePath = path;
    request.takesRawBody = takesRawBody;
    done();
  };
}

/** Runs before the body is read, so that nobody unknown makes the service parse anything. */
function credentialCheck(
  deps: ServerDeps,
  credential: Credential,
): (onRequestHookHandler | onRequestAsyncHookHandler)[] {
  if (credential === "none") return [];
  if (credential === "item") {
    const check: onRequestHookHandler = (request, _reply, done) => {
      if (hasKey(request)) return done();
      if (request.headers["x-session-token"] === undefined) return done(unauthorized());
      authenticate(deps.pool, request, "apiKey", deps.onKeyUsed).then(() => done(), done);
    };
    return [check];
  }
  return [
    async (request: FastifyRequest) => {
      request.caller = await authenticate(deps.pool, request, credential, deps.onKeyUsed);
    },
  ];
}

function hasKey(request: FastifyRequest): boolean {
  try {
    return presentedKey(request) !== undefined;
  } catch {
    return false;
  }
}

function answerError(
  deps: ServerDeps,
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): unknown {
  const answer = toApiError(error, request.routeOptions.config.missingFields);
  if (answer.status >= 500) deps.log.failure(request.id, answer.status, error);
  if (answer.retryAfterSeconds !== undefined)
    void reply.header("retry-after", String(answer.retryAfterSeconds));
  return reply
    .code(answer.status)
    .type("application/json; charset=utf-8")
    .send(JSON.stringify({ error: answer.message }));
}
