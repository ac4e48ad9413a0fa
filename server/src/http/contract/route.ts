import type { FastifyReply, FastifyRequest } from "fastify";
import type { Static, TSchema } from "typebox";
import type { Caller } from "./credentials.ts";

/**
 * What a route takes as proof of who calls:
 * `none`; `session` or `apiKey` only; `either`; `portal`: the session of a customer only; `apiKeyInSql`: an API key that the
 * route's own SQL function checks in its transaction, so that the hot path asks the database once.
 */
export type Credential = "none" | "session" | "apiKey" | "either" | "portal" | "apiKeyInSql";

/** The parts of a request that a route declares, as TypeBox schemas, and what it answers. */
export interface RouteSchema {
  /** One line for the documentation. */
  summary: string;
  description?: string;
  body?: TSchema;
  querystring?: TSchema;
  params?: TSchema;
  headers?: TSchema;
  /** Successful answers by status code. */
  response: Record<number, TSchema>;
  /**
   * What else it refuses, by status code, in one sentence each. Refusals that follow from the credential and the
   * inputs (400, 401, 403, 404, 413, 415, 503) need not be listed.
   */
  errors?: Record<number, string>;
  /** The bodies of `errors` that are not `{"error": message}`, by status code. */
  errorBodies?: Record<number, TSchema>;
  /** Headers of its own that successful answers carry. */
  answerHeaders?: readonly ("Cache-Control" | "Content-Disposition" | "Mcp-Session-Id")[];
}

/** One call of a route, with its inputs as its schema declares them. */
export interface RouteCall<S extends RouteSchema> {
  body: S["body"] extends TSchema ? Static<S["body"]> : undefined;
  query: S["querystring"] extends TSchema ? Static<S["querystring"]> : Record<string, never>;
  params: S["params"] extends TSchema ? Static<S["params"]> : Record<string, never>;
  /** Who calls; on a route without credential this is nobody and must not be read. */
  caller: Caller;
  request: FastifyRequest;
  reply: FastifyReply;
}

/** A POST that arrived whole, read from the bytes of one piece. */
export interface WholeRequest {
  /** The path with `:id` in the place of what it names, such as `/t/:id`. */
  path: string;
  /** The id in the path, 32 lower-case hex characters; the customer's uid in that of a publication, empty where it has none. */
  id: string;
  /** By lower-case name, each at most once. */
  headers: Readonly<Record<string, string>>;
  /** The API key of `Authorization`, in its form and not checked further. */
  key: string;
  /** At least one byte, said to be JSON. */
  body: Buffer;
}

/** What a route answers on the fast path. */
export interface FastAnswer {
  status: number;
  /** JSON. */
  text: string;
  /** Headers beside those that every answer has. */
  headers?: readonly (readonly [name: string, value: string])[] | undefined;
}

/** A route of the interface, apart from its address and credential, which stand in the table of `app.ts`. */
export interface RouteDefinition {
  schema: RouteSchema;
  handle(call: RouteCall<RouteSchema>): unknown;
  /** Whether the handler takes the body's bytes as received (a Buffer) in place of parsed JSON. */
  rawBody?: boolean;
  /** Whether the body may be of any content type; it is then not looked at. */
  anyBody?: boolean;
  /**
   * The same route for requests that arrived whole and plain, without the framework; undefined for one that only
   * `handle` can answer, as long as nothing was done. The organization is that of the request's key.
   */
  fast?: (request: WholeRequest, orgId: string) => Promise<FastAnswer> | undefined;
  /** What to answer, with 400, in place of "<field> is required" when the body lacks one of its required fields. */
  missingFields?: string;
}

/** The routes of a feature, by name. */
export type Routes<Names extends string> = Record<Names, RouteDefinition>;

/** Declares a route: `handle` sees body, query and parameters typed by `schema`, and returns the answer's body. */
export function route<const S extends RouteSchema>(
  schema: S,
  handle: (call: RouteCall<S>) => unknown,
  options: Pick<RouteDefinition, "rawBody" | "anyBody" | "missingFields" | "fast"> = {},
): RouteDefinition {
  return { schema, handle, ...options };
}

/** Sends through the framework what a route answers on the fast path. */
export function sendAnswer(reply: FastifyReply, { status, text, headers = [] }: FastAnswer): FastifyReply {
  for (const [name, value] of headers) void reply.header(name, value);
  return reply.code(status).type("application/json; charset=utf-8").send(text);
}
