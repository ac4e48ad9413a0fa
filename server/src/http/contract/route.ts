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
  {
    name: "API keys",
    description: "Up to five per organization, unless the operator configured another number",
  },
  { name: "Customers", description: "Customers of an organization, by the organization's own ids" },
  { name: "Event types", description: "The catalogue of event types that an organization sends" },
  { name: "Portal", description: "The page on which customers see and change their own webhooks" },
  { name: "Targets", description: "Destinations of items: webhooks, mailboxes and agents" },
  { name: "Ingestion", description: "Sending items" },
  { name: "Publications", description: "Items sent to many targets with one request" },
  { name: "Endpoints", description: "Webhook targets in the form of the older interface" },
  { name: "Mailboxes", description: "Reading, claiming and acknowledging messages" },
  { name: "Events", description: "Accepted items, their status and their replays" },
  { name: "Erasure", description: "Erasing payloads and answers of items" },
  { name: "Notifications", description: "Operational events about targets and items" },
  { name: "Statistics", description: "Statistics over time" },
  { name: "Organization", description: "The organization's name, slug and settings" },
  { name: "Members", description: "Members, invitations and the audit log" },
  { name: "Billing", description: "Usage and payment" },
  { name: "Operation", description: "For operators of the service" },
] as const;

export type Tag = (typeof tags)[number]["name"];

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/**
 * The credential that a route accepts: `none`; only `session` or `apiKey`; `either` of the two; `portal`: only a customer's
 * session; `apiKeyInSql`: an API key that the route's SQL function checks in its transaction, so that the hot path needs one
 * query.
 */
export type Credential = "none" | "session" | "apiKey" | "either" | "portal" | "apiKeyInSql";

/** The audit log's action or actions for a successful change, or the reason why the change is not in the audit log. */
export type Audit = Action | readonly Action[] | { none: string };

/** A route's documentation, and the schemas of its inputs and answers. */
interface Described {
  /** One line for the documentation. */
  summary: string;
  description?: string;
  headers?: TSchema;
  /** Successful answers by status code. */
  response: Record<number, TSchema>;
  /** The route's own headers of successful answers. */
  answerHeaders?: readonly ("Cache-Control" | "Content-Disposition" | "Mcp-Session-Id")[];
  /**
   * The route's own refusals by status code, in one sentence each. Refusals that follow from the credential and the inputs (400,
   * 401, 403, 404, 413, 415, 503) need not be listed.
   */
  errors?: Record<number, string>;
  /** The bodies of `errors` that are not `{"error": message}`, by status code. */
  errorBodies?: Record<number, TSchema>;
  /** The message of the 400 for a body that lacks a required field, in place of "<field> is required". */
  missingFields?: string;
  examples?: Examples;
  /** `json`: the handler gets the body's bytes as received (a Buffer). `any`: any content type is accepted and not read. */
  rawBody?: "json" | "any";
  /** A field of the body whose numbers must stay as written. In `metadata` and `example`, they must on all routes. */
  keptField?: string;
}

/** One route of the interface: its address, who may call it, its documentation, and its handler. */
export interface RouteRecord extends Described {
  method: Method;
  /** The path, with parameters in Fastify's form: `/api/v1/keys/:id`. */
  path: string;
  credential: Credential;
  /** The least role of a user whose session the route takes. API keys and customers have no role. */
  leastRole?: Role;
  /** The limited credentials that the route accepts, see {@link ScopeRule}. */
  scope?: ScopeRule;
  /** The route's name in the OpenAPI document. Clients name their methods by it, so it must not change. */
  operationId: string;
  /** The section of the documentation. */
  tag: Tag;
  /** Required for routes that change something; absent for a GET. */
  audit?: Audit;
  params?: TSchema;
  query?: TSchema;
  body?: TSchema;
  handle(call: RouteCall): unknown;
  /**
   * Handles a plain request that arrived whole, without the framework. Returns undefined for a request that only `handle` can
   * answer. `orgId` is the organization of the request's key.
   */
  fast?: (request: WholeRequest, orgId: string) => FastOutcome;
}

/** Example bodies for the documentation; a test checks them against the schemas. */
export interface Examples {
  /** Bodies of requests, each under a short title. */
  request?: Record<string, unknown>;
  /** The body of the first successful answer. */
  answer?: unknown;
}

/** One call of a route, with its inputs typed by the route's record. */
export interface RouteCall<Params = Record<string, string>, Query = unknown, Body = unknown> {
  params: Params;
  query: Query;
  body: Body;
  /** The authenticated caller. Null on a route without credential, whose handler must not read it. */
  caller: Caller;
  request: FastifyRequest;
  reply: FastifyReply;
}

/** The promised answer of the fast path; undefined when only `handle` can answer and nothing was done yet. */
type FastOutcome = Promise<FastAnswer> | undefined;

/** A plain POST request whose body arrived in one piece. */
export interface WholeRequest {
  /** The path with `:id` in place of its parameter, such as `/t/:id`. */
  path: string;
  /** The id in the path, 32 lower-case hex characters; for a publication, the customer's uid or an empty text. */
  id: string;
  /** The headers, none of which was repeated. */
  headers: IncomingHttpHeaders;
  /** The API key of `Authorization`; only its form was checked. */
  key: string;
  /** At least one byte, with the content type JSON. */
  body: Buffer;
}

/** The answer of a route on the fast path. */
export interface FastAnswer {
  status: number;
  /** The body, as JSON text. */
  text: string;
  /** Headers in addition to those of every answer. */
  headers?: readonly (readonly [name: string, value: string])[] | undefined;
}

/** The fields that depend on the method. */
type Change<M> = M extends "GET" ? { audit?: never } : { audit: Audit };

/** The callers of a route, from a function of `access.ts`, and the handler of the fast path, for routes that may have one. */
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
 * A rule for limited credentials that fits the path. If the path has a parameter, the rule says what the parameter names, so that
 * no credential reaches objects outside its scope. Without a parameter, the route itself returns only the caller's own objects.
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

/** The argument of {@link routesOf}'s function: a record whose schemas and path type the handler's inputs. */
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
 * A function that declares routes of a section: `route("readKey", "GET /api/v1/keys/:id", { access: …, … })`. `handle` gets the
 * body, query and parameters typed by the record, and the section's dependencies; it returns the answer's body. Parameters of
 * the path may be any text, because an unknown id is a 404 even if it is malformed.
 * @returns the function; for each route, it returns a function that makes the record from the dependencies.
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

/** Sends an answer of the fast path through the framework. */
export function sendAnswer(reply: FastifyReply, { status, text, headers = [] }: FastAnswer): FastifyReply {
  for (const [name, value] of headers) void reply.header(name, value);
  return reply.code(status).type("application/json; charset=utf-8").send(text);
}

/** The answer and the handler of a route that deletes the object named by `:id` in its path; 404 for a malformed id. */
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
