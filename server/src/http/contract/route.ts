import type { IncomingHttpHeaders } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Static, type TSchema, Type } from "typebox";
import type { Action } from "./auditActions.ts";
import type { Caller } from "./credentials.ts";
import type { Role } from "./access.ts";
import type { ScopeRule } from "./scope.ts";
import { idOf } from "./errors.ts";
import { Deleted } from "./schemas.ts";

/** The sections of the documentation, in the order of the interface. */
export const tags = [
  { name: "Account", description: "Signup, login and sessions" },
  { name: "API keys", description: "Up to five per workspace" },
  { name: "Customers", description: "Whom an organization sends to, by its own ids" },
  { name: "Event types", description: "The catalogue of what an organization sends" },
  { name: "Portal", description: "Where customers see and change their own webhooks" },
  { name: "Targets", description: "Where items go: webhooks, mailboxes and agents" },
  { name: "Ingestion", description: "Handing items over" },
  { name: "Publications", description: "What was sent with one call to many targets" },
  { name: "Endpoints", description: "Webhook targets as older clients know them" },
  { name: "Mailboxes", description: "Reading, claiming and acknowledging messages" },
  { name: "Events", description: "What became of accepted items" },
  { name: "Erasure", description: "Removing what items held" },
  { name: "Notifications", description: "Hearing of what happens to targets and items" },
  { name: "Statistics", description: "What happened over time" },
  { name: "Organization", description: "The workspace that everything belongs to" },
  { name: "Members", description: "Who belongs to the organization, and who changed what" },
  { name: "Billing", description: "Usage and payment" },
  { name: "Operation", description: "For those who run the service" },
] as const;

export type Tag = (typeof tags)[number]["name"];

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/**
 * Proof of identity that a route takes:
 * `none`; `session` or `apiKey` only; `either`; `portal`: the session of a customer only; `apiKeyInSql`: an API key that the
 * route's own SQL function checks in its transaction, so that the hot path asks the database once.
 */
export type Credential = "none" | "session" | "apiKey" | "either" | "portal" | "apiKeyInSql";

/** The audit log's action or actions for a successful change; or the reason why the change is not in the audit log. */
export type Audit = Action | readonly Action[] | { none: string };

/** A route's documentation, and the form of what it takes and answers. */
interface Described {
  /** One line for the documentation. */
  summary: string;
  description?: string;
  headers?: TSchema;
  /** Successful answers by status code. */
  response: Record<number, TSchema>;
  /** Headers of its own that successful answers carry. */
  answerHeaders?: readonly ("Cache-Control" | "Content-Disposition" | "Mcp-Session-Id")[];
  /**
   * Refusals of its own by status code, in one sentence each. Refusals that follow from the credential and the
   * inputs (400, 401, 403, 404, 413, 415, 503) need not be listed.
   */
  errors?: Record<number, string>;
  /** The bodies of `errors` that are not `{"error": message}`, by status code. */
  errorBodies?: Record<number, TSchema>;
  /** The message of the 400 for a body that lacks a required field, in place of "<field> is required". */
  missingFields?: string;
  examples?: Examples;
  /** The handler takes the body's bytes as received (a Buffer): of JSON, or of any content type, which is not read. */
  rawBody?: "json" | "any";
  /** A field of the body whose numbers must stay as they are written, as those of `metadata` and `example` must everywhere. */
  keptField?: string;
}

/** One route of the interface: its address, who may call it, its documentation, and its handler. */
export interface RouteRecord extends Described {
  method: Method;
  /** Parameters stand as Fastify writes them: `/api/v1/keys/:id`. */
  path: string;
  credential: Credential;
  /** The least role of a user whose session the route takes. API keys and customers have no role. */
  leastRole?: Role;
  /** The limited credentials that the route takes, see {@link ScopeRule}. */
  scope?: ScopeRule;
  /** Names the route in the OpenAPI document. Clients name their methods by it, so it does not change. */
  operationId: string;
  /** The section of the documentation. */
  tag: Tag;
  /** Routes that change something state it; a GET changes nothing. */
  audit?: Audit;
  params?: TSchema;
  query?: TSchema;
  body?: TSchema;
  handle(call: RouteCall): unknown;
  /**
   * The same route for requests that arrived whole and plain, without the framework; undefined for one that only
   * `handle` can answer. The organization is that of the request's key.
   */
  fast?: (request: WholeRequest, orgId: string) => FastOutcome;
}

/** Example bodies for the documentation; a test holds them against the schemas. */
export interface Examples {
  /** Bodies of requests, each under a few words that say what it shows. */
  request?: Record<string, unknown>;
  /** A body of the first of the successful answers. */
  answer?: unknown;
}

/** One call of a route, with its inputs as its record declares them. */
export interface RouteCall<Params = Record<string, string>, Query = unknown, Body = unknown> {
  params: Params;
  query: Query;
  body: Body;
  /** The authenticated caller. It is null on a route without credential, which must not read it. */
  caller: Caller;
  request: FastifyRequest;
  reply: FastifyReply;
}

/** The answer to come on the fast path; undefined when only `handle` can answer, as long as nothing was done. */
type FastOutcome = Promise<FastAnswer> | undefined;

/** A plain POST whose body arrived with its head. */
export interface WholeRequest {
  /** The path with `:id` in the place of what it names, such as `/t/:id`. */
  path: string;
  /** The id in the path, 32 lower-case hex characters; the customer's uid in that of a publication, empty where it has none. */
  id: string;
  /** Each header came once. */
  headers: IncomingHttpHeaders;
  /** The API key of `Authorization`, in its form and not checked further. */
  key: string;
  /** At least one byte, said to be JSON. */
  body: Buffer;
}

/** The answer of a route on the fast path. */
export interface FastAnswer {
  status: number;
  /** JSON. */
  text: string;
  /** Headers beside those that every answer has. */
  headers?: readonly (readonly [name: string, value: string])[] | undefined;
}

/** The fields that have to agree with the method. */
type Change<M> = M extends "GET" ? { audit?: never } : { audit: Audit };

/** The callers of a route, by a function of `access.ts`, and its handler on the fast path, if it may have one. */
type Access<M, Path extends string, Deps> =
  | {
      access:
        | { credential: "none" }
        | { credential: "session"; leastRole: Role }
        | { credential: "either"; leastRole: Role; scope: ScopeOf<Path> }
        | { credential: "apiKey" | "portal"; scope: ScopeOf<Path> };
      fast?: never;
    }
  | (M extends "POST"
      ? {
          access: { credential: "apiKeyInSql"; scope: ScopeOf<Path> };
          fast?: (request: WholeRequest, deps: Deps) => FastOutcome;
        }
      : never);

/**
 * A rule for limited credentials that fits the path: with a parameter it says what the parameter names, so that no
 * credential gets at things beyond its reach; without one the route keeps to the caller's own things by itself.
 */
type ScopeOf<Path extends string> =
  | { takes: readonly ("send" | "read")[]; names?: never }
  | {
      takes: ScopeRule["takes"];
      names: [Parameter<Path>] extends [never] ? "own" : Exclude<NonNullable<ScopeRule["names"]>, "own">;
    };

/** The names of a path's parameters. */
type Parameter<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer More}`
    ? Name | Parameter<More>
    : Rest
  : never;

/** The argument of {@link route}: a record whose schemas type the handler's inputs, as its path names the parameters. */
type Declared<
  Deps,
  Path extends string,
  Query extends TSchema | undefined,
  Body extends TSchema | undefined,
> = Described & {
  query?: Query;
  body?: Body;
  handle(
    call: RouteCall<
      Record<Parameter<Path>, string>,
      Query extends TSchema ? Static<Query> : Record<string, never>,
      Body extends TSchema ? Static<Body> : undefined
    >,
    deps: Deps,
  ): unknown;
};

/**
 * A section's way to declare a route: `route("readKey", "GET /api/v1/keys/:id", { access: …, … })`. `handle` sees body, query
 * and parameters typed by the record, and what the section needs of the process; it returns the answer's body. Parameters of
 * the path are any text: an unknown id is a 404, whatever its form.
 * @returns makes the record with what the section needs.
 */
export function routesOf<Deps = void>(tag: Tag) {
  return <
    M extends Method,
    const Path extends `/${string}`,
    Query extends TSchema | undefined = undefined,
    Body extends TSchema | undefined = undefined,
  >(
    operationId: string,
    address: `${M} ${Path}`,
    declared: Declared<Deps, Path, Query, Body> & Access<M, Path, Deps> & Change<M>,
  ): ((deps: Deps) => RouteRecord) => {
    const { access, fast, ...record } = declared;
    const [method, path] = address.split(" ") as [M, Path];
    const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
    const params = Type.Object(Object.fromEntries(names.map((name) => [name, Type.String()])));
    return (deps) => ({
      method,
      path,
      operationId,
      tag,
      ...access,
      ...record,
      ...(names.length > 0 && { params }),
      handle: (call) => declared.handle(call as never, deps),
      ...(fast && { fast: (request: WholeRequest) => fast(request, deps) }),
    });
  };
}

/** Sends through the framework what a route answers on the fast path. */
export function sendAnswer(reply: FastifyReply, { status, text, headers = [] }: FastAnswer): FastifyReply {
  for (const [name, value] of headers) void reply.header(name, value);
  return reply.code(status).type("application/json; charset=utf-8").send(text);
}

/** The answer and the handler of a route that removes what its path's `:id` names; 404 for what is no id. */
export function removal<Deps>(
  remove: (call: RouteCall<{ id: string }>, id: string, deps: Deps) => Promise<unknown>,
) {
  return {
    response: { 200: Deleted },
    async handle(call: RouteCall<{ id: string }>, deps: Deps) {
      await remove(call, idOf(call.params.id), deps);
      return { deleted: true };
    },
  };
}
