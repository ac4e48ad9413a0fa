import { addRequestFields } from "./fastifyFields.ts";
import { lazyCompilers } from "./lazyCompilers.ts";
import type { Socket } from "node:net";
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type onRequestAsyncHookHandler,
  type onRequestHookHandler,
  type preValidationHookHandler,
} from "fastify";
import { limitConnections } from "./connections/connectionLimit.ts";
import { answerProtocolErrors, refuseConnection } from "./connections/protocolErrors.ts";
import { pacedConnection, PacedServer } from "./connections/pacedServer.ts";
import { authenticate, type Caller, presentedKey } from "./contract/credentials.ts";
import { requireRole } from "./contract/access.ts";
import { createBodyRoom, registerBodyParser, statedBytes } from "./contract/body.ts";
import { logFailure, toApiError } from "./contract/errorAnswer.ts";
import { clientGone, errorHeaders, noneNamed, notFound, unauthorized } from "./contract/errors.ts";
import { headProblem, isFramingFaulty } from "./contract/headProblem.ts";
import { knownQuery, queryNumbers } from "./contract/query.ts";
import { newRequestId } from "./contract/requestId.ts";
import { checkScope, type NamedThing, outOfScope, type Scope } from "./contract/scope.ts";
import type { RouteRecord } from "./contract/route.ts";
import type { KeyOwners, ServerDeps } from "./contract/serverDeps.ts";
import { compressAnswers } from "./compress.ts";
import { createFastHandler } from "./fast/fastHandler.ts";

/** The time that a client has to send a request's headers and body before its connection is closed. */
const requestTimeoutMs = 30_000;
/** The part of this time for the headers. */
const headersTimeoutMs = 15_000;
/** How long a connection may idle between requests. */
const keepAliveMs = 72_000;

const httpOptions = {
  headersTimeout: headersTimeoutMs,
  requestTimeout: requestTimeoutMs,
  keepAliveTimeout: keepAliveMs,
  // The three limits are checked once per second; with Node's default of 30 s, a limit could take twice its time.
  connectionsCheckingInterval: 1000,
  // Node itself would answer a missing Host, with an empty body.
  requireHostHeader: false,
};

/** The HTTP server without routes: limits, request ids, bodies, errors, log lines of requests, and metrics. */
export function createServer(deps: ServerDeps): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: deps.config.maxBodyBytes,
    // One hop: a client can forge every entry but the last, which the proxy itself adds.
    trustProxy: deps.config.trustProxy ? (_address, hop) => hop === 0 : false,
    genReqId: newRequestId,
    requestIdHeader: false,
    // More than the longest parameter, the name of an event type, so that its own rule refuses longer names.
    routerOptions: { maxParamLength: 300, ignoreTrailingSlash: false },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        allErrors: false,
        useDefaults: true,
        // An error then contains the schema of its field, which tells its unit.
        verbose: true,
        // A test checks our schemas against the meta-schema, whose compilation takes longer than that of all our schemas.
        validateSchema: false,
      },
    },
    schemaController: { compilersFactory: lazyCompilers() },
    return503OnClosing: false,
    ...belowPrefix(pathPrefix(deps.config.publicUrl)),
    frameworkErrors: (error, request, reply) => {
      // Hooks do not run for a request without a route.
      addCommonHeaders(request, reply);
      return answerError(deps, error, request, reply);
    },
    clientErrorHandler: refuseConnection,
    serverFactory: (handle) => new PacedServer(httpOptions, handle),
  });
  answerProtocolErrors(app.server);
  addRequestFields(app);
  app.decorate("bodyRoom", createBodyRoom(deps.config.bodyMemoryBytes));
  registerBodyParser(app, deps.config.maxBodyBytes, app.bodyRoom);
  app.decorate(
    "connectionLimit",
    limitConnections(
      app.server,
      deps.maxConnections,
      (socket) => pacedConnection(socket)?.isWorking() ?? false,
    ),
  );
  app.addHook("onRequest", (request, reply, done) => {
    request.startedAtMs = performance.now();
    request.answer = reply.raw;
    addCommonHeaders(request, reply);
    // An unknown path is refused before the body is read, which may have any form.
    done(headProblem(request.raw) ?? (request.is404 ? notFound() : undefined));
  });
  app.addHook("onSend", (request, reply, _payload, done) => {
    const { socket } = request;
    const owner = request.caller?.orgId ?? request.keyOwner;
    if (owner !== null) app.connectionLimit.noteOwner(socket, owner);
    if (pacedConnection(socket)?.canReadOn() === false || app.connectionLimit.isOverShare(socket)) {
      void reply.header("connection", "close");
    }
    done();
  });
  compressAnswers(app);
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

function addCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  void reply.header("x-request-id", request.id).header("x-content-type-options", "nosniff");
}

/**
 * Adds the routes of the interface. Credentials are checked only here, except for requests on the fast path, whose route checks
 * their key.
 */
export function addRoutes(app: FastifyInstance, deps: ServerDeps, routes: readonly RouteRecord[]): void {
  for (const route of routes) {
    const { method, path, params, query, headers, body, response, rawBody } = route;
    const { onRequest, preValidation } = credentialCheck(deps, route);
    app.route({
      method,
      url: path,
      // The framework warns of a schema that is there and undefined.
      schema: {
        ...(params && { params }),
        ...(query && { querystring: query }),
        ...(headers && { headers }),
        ...(body && { body }),
        response,
      },
      // A route with a raw body reads its inputs itself, on the hot path; its schemas only serve as documentation.
      ...(rawBody !== undefined && { validatorCompiler: () => () => true }),
      config: {
        anyBody: rawBody === "any",
        missingFields: route.missingFields,
        keptField: route.keptField,
      },
      onRequest: [nameRoute(path, rawBody !== undefined), ...onRequest],
      preValidation: [
        ...preValidation,
        ...(takesKnownQuery(route) ? [knownQuery(query)] : []),
        ...queryNumbers(query),
      ],
      handler: (request, reply) =>
        route.handle({
          body: request.body,
          query: request.query,
          params: request.params as Record<string, string>,
          caller: request.caller as Caller,
          request,
          reply,
        }),
    });
  }
}

/** Whether unknown query parameters are refused: on routes where the caller may expect them to have an effect. */
function takesKnownQuery({ method, credential, query }: RouteRecord): boolean {
  return credential !== "none" && (method === "GET" || query !== undefined);
}

/** Adds the fast path and the connection limit to the server, after all routes were added. */
export function addConnections(app: FastifyInstance, deps: ServerDeps, routes: readonly RouteRecord[]): void {
  const server = app.server as unknown as PacedServer;
  const { connectionLimit } = app;
  if (deps.config.fastHttp === "on") {
    const { log, metrics, keyOwners, config } = deps;
    server.handle = createFastHandler(
      {
        log,
        metrics,
        keyOwners,
        maxBodyBytes: config.maxBodyBytes,
        connectionLimit,
        keepAliveSeconds: keepAliveMs / 1000,
        isOpen: () => server.listening,
        framework: server.framework,
      },
      routes,
    );
  }
  server.prependListener("connection", (socket: Socket) => void connectionLimit.admit(socket));
}

function nameRoute(path: string, takesRawBody: boolean): onRequestHookHandler {
  return (request, _reply, done) => {
    request.routePath = path;
    request.takesRawBody = takesRawBody;
    done();
  };
}

interface CredentialCheck {
  onRequest: (onRequestHookHandler | onRequestAsyncHookHandler)[];
  preValidation: preValidationHookHandler[];
}

/**
 * Hooks that check the credential before the body is read, so that the service parses nothing for unknown callers. They check it
 * again after a body that arrived later, which may take half a minute: the user may have lost the role.
 */
function credentialCheck(deps: ServerDeps, route: RouteRecord): CredentialCheck {
  const { credential, leastRole } = route;
  if (credential === "none") return { onRequest: [], preValidation: [] };
  const door = scopeDoor(deps, route);
  if (credential === "apiKeyInSql") {
    const check: onRequestHookHandler = (request, _reply, done) => {
      const key = keyOf(request);
      if (key !== undefined) return checkOwner({ owners: deps.keyOwners, door }, key, request, done);
      if (request.headers["x-session-token"] === undefined) return done(unauthorized());
      authenticate(deps.pool, request, "apiKey", deps.onKeyUsed).then(() => done(), done);
    };
    return { onRequest: [check], preValidation: [] };
  }
  const check = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const caller = await authenticate(deps.pool, request, credential, deps.onKeyUsed);
    request.caller = caller;
    // Caches know that answers to `Authorization` are private, but do not know `X-Session-Token`.
    if (caller.kind !== "apiKey") void reply.header("cache-control", "no-store");
    if (caller.scope !== undefined) await door.admit(caller.orgId, caller.scope, request);
    if (leastRole !== undefined) requireRole(caller, leastRole);
    if (route.method === "GET" && request.answer.destroyed) throw clientGone();
    // Requests that the service makes to itself do not have the field.
    request.awaitsBody = "complete" in request.raw && !request.raw.complete;
  };
  const checkAgain: preValidationHookHandler = (request, reply, done) => {
    if (request.awaitsBody) check(request, reply).then(() => done(), done);
    else done();
  };
  return { onRequest: [check], preValidation: [checkAgain] };
}

function keyOf(request: FastifyRequest): string | undefined {
  try {
    return presentedKey(request);
  } catch {
    return undefined;
  }
}

/** A larger body, or one of unknown length, is read only after the database has confirmed the key. */
const maxBytesOnTrust = 64 * 1024;

/** Looks up the key's organization before the body is read. */
function checkOwner(
  { owners, door }: { owners: KeyOwners; door: ScopeDoor },
  key: string,
  request: FastifyRequest,
  done: (error?: Error) => void,
): void {
  const known = (statedBytes(request) ?? Infinity) <= maxBytesOnTrust ? owners.known(key) : undefined;
  if (known !== undefined && (known.scope === undefined || door.isOpen(known.scope, request))) {
    request.keyOwner = known.orgId;
    done();
    return;
  }
  // A limited key is refused only after a lookup in the database, so that a key that was revoked since gets 401.
  const admitted = owners.find(key).then(async (owner) => {
    if (owner === undefined) throw unauthorized();
    request.keyOwner = owner.orgId;
    if (owner.scope !== undefined) await door.admit(owner.orgId, owner.scope, request);
  });
  admitted.then(() => done(), done);
}

type ScopeDoor = ReturnType<typeof scopeDoor>;

/** Admits or refuses limited credentials on a route. */
function scopeDoor(deps: ServerDeps, { path, scope: rule }: RouteRecord) {
  const parameter = /:(\w+)/.exec(path)?.[1];
  const namedBy = ({ params }: FastifyRequest): string | undefined =>
    parameter === undefined ? undefined : (params as Record<string, string>)[parameter];
  return {
    /** Whether the credential is admitted without a lookup in the database. */
    isOpen: (scope: Scope, request: FastifyRequest) =>
      checkScope(scope, rule, namedBy(request)) === "admitted",
    /** @throws {ApiError} 403 when the route does not accept the credential, 404 for an object outside its scope. */
    async admit(orgId: string, scope: Scope, request: FastifyRequest): Promise<void> {
      const named = namedBy(request);
      switch (checkScope(scope, rule, named)) {
        case "admitted":
          return;
        case "refused":
          throw outOfScope(scope);
        case "unknown":
          throw rule!.names === "customer" ? noneNamed("customer", named!) : notFound();
        case "to be looked up": {
          const thing = { kind: rule!.names as NamedThing["kind"], id: named! };
          if (!(await deps.reach(orgId, scope, thing))) throw notFound();
        }
      }
    },
  };
}

function answerError(
  deps: ServerDeps,
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): unknown {
  const answer = toApiError(error, request.routeOptions.config.missingFields);
  logFailure(deps.log, { requestId: request.id, error, answer });
  for (const [name, value] of errorHeaders(answer)) void reply.header(name, value);
  if (answer.status === 501 || answer.status === 505 || isFramingFaulty(request.raw))
    void reply.header("connection", "close");
  return reply
    .code(answer.status)
    .type("application/json; charset=utf-8")
    .send(JSON.stringify({ error: answer.message }));
}

/** The path of the public URL: empty, or a path such as `/hooks`, without a slash at the end. */
export function pathPrefix(publicUrl: string | undefined): string {
  return publicUrl === undefined ? "" : new URL(publicUrl).pathname.replace(/\/+$/, "");
}

/** Removes the public URL's path from requests in which a proxy has left it. Requests without the path are answered, too. */
function belowPrefix(prefix: string): { rewriteUrl?: (request: { url?: string }) => string } {
  if (prefix === "") return {};
  const isBelow = (url: string): boolean =>
    url.startsWith(prefix) && /^[/?]?$/.test(url.charAt(prefix.length));
  return {
    rewriteUrl({ url = "/" }) {
      if (!isBelow(url)) return url;
      const rest = url.slice(prefix.length);
      return rest.startsWith("/") ? rest : `/${rest}`;
    },
  };
}

/** The time for requests in flight to end after the server stops, and the interval at which idle connections are closed. */
const graceMs = 5_000;
const lookEveryMs = 100;

/**
 * Stops listening and resolves when every connection has ended. From now on, each answer ends its connection, and idle
 * connections are closed. After the grace period all other connections are closed, because a client that never finishes its
 * request must not keep the process alive.
 */
export async function closeServer(app: FastifyInstance): Promise<void> {
  const deadlineMs = performance.now() + graceMs;
  const sweep = setInterval(() => {
    if (performance.now() > deadlineMs) app.server.closeAllConnections();
    else app.server.closeIdleConnections();
    // Node counts connections without any byte as busy, because a request may be arriving.
    app.connectionLimit.closeUnused();
  }, lookEveryMs);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
  }
}
