import { describeSchema, type JsonSchema, type NamedSchemas } from "./openapiSchemas.ts";
import { challenge, errorCodes } from "./contract/errors.ts";
import { ErrorBody } from "./contract/schemas.ts";
import type { RouteRecord } from "./contract/route.ts";

/** Every header that an answer may carry, for `components.headers`. */
export const answerHeaders = {
  RequestId: {
    description: "Names this request in the service's log",
    required: true,
    schema: { type: "string", examples: ["9f2c1a7b3d4e00000001"] },
  },
  ErrorCode: {
    description: `Distinguishes errors that have the same status: ${describeCodes()}`,
    schema: { type: "string", enum: Object.keys(errorCodes) },
  },
  WwwAuthenticate: {
    description: "The credential that is required (RFC 9110, section 11.6.1)",
    schema: { type: "string", examples: [challenge] },
  },
  AcceptEncoding: {
    description: "The accepted content codings; sent when a body with another coding was refused",
    schema: { type: "string", enum: ["identity"] },
  },
  CacheControl: {
    description: "Whether the answer may be stored (RFC 9111, section 5.2.2)",
    schema: { type: "string", examples: ["no-store"] },
  },
  ContentDisposition: {
    description: "File name for the answer's body (RFC 6266)",
    schema: { type: "string", examples: ['attachment; filename="0192f3a4b5c67d8e9fa0b1c2d3e4f506.json"'] },
  },
  McpSessionId: {
    description: "On the answer to initialize: the session id that further messages carry",
    schema: { type: "string" },
  },
  RetryAfter: {
    description: "Seconds to wait before the request is repeated",
    schema: { type: "integer", minimum: 1 },
  },
  RateLimit: {
    description:
      "The remaining requests, and the seconds until the limit is reset (draft-ietf-httpapi-ratelimit-headers-10)",
    schema: { type: "string", examples: ['"login";r=4;t=900'] },
  },
  RateLimitPolicy: {
    description: "The limit and its window in seconds (draft-ietf-httpapi-ratelimit-headers-10)",
    schema: { type: "string", examples: ['"login";q=5;w=900'] },
  },
  IdempotencyReplayed: {
    description:
      "`true` when an item with the same key was accepted before: the answer is that item's, and no item was added",
    schema: { type: "string", enum: ["true"] },
  },
  ClaimReplayed: {
    description: "`true` when the answer is that of an earlier request with the same Claim-Id",
    schema: { type: "string", enum: ["true"] },
  },
} as const;

function describeCodes(): string {
  return Object.entries(errorCodes)
    .map(([code, meaning]) => `\`${code}\`: ${meaning}`)
    .join("; ");
}

/** Refusals that follow from a route's credential and inputs, for `components.responses`. */
export function commonRefusals(named: NamedSchemas): JsonSchema {
  return Object.fromEntries(
    Object.entries(refusals).map(([name, { status, description }]) => [
      name,
      describeRefusal(status, description, requestId, describeSchema(ErrorBody, named)),
    ]),
  );
}

/** All answers of a route by status code, errors included. */
export function describeResponses(route: RouteRecord, named: NamedSchemas): Record<string, JsonSchema> {
  const { response, headers: accepted, errors = {}, answerHeaders: own = [], errorBodies = {} } = route;
  const isLimited = errors[429] !== undefined;
  const headers = {
    ...requestId,
    ...(isLimited && {
      ...header("RateLimit"),
      ...header("RateLimit-Policy"),
    }),
  };
  const ownHeaders = own.map(header);
  const successHeaders = Object.assign(
    { ...headers, ...replayHeaders(accepted) },
    ...ownHeaders,
  ) as JsonSchema;
  const successes = Object.entries(response).map(([status, body], index) => {
    const schema = describeSchema(body, named);
    const content = describeContent(schema, index === 0 ? route.examples?.answer : undefined);
    const { description } = schema;
    // A schema of null means an answer without a body.
    if (schema["type"] === "null")
      return [status, { description: description ?? "Success", headers: successHeaders }];
    return [status, { description: "Success", headers: successHeaders, content }];
  });
  const implied = impliedRefusals(route).map((name) => [
    refusals[name].status,
    { $ref: `#/components/responses/${name}` },
  ]);
  const declared = Object.entries(errors).map(([status, description]) => [
    status,
    describeRefusal(
      Number(status),
      description,
      headers,
      describeSchema(errorBodies[Number(status)] ?? ErrorBody, named),
    ),
  ]);
  return Object.fromEntries([...successes, ...implied, ...declared]) as Record<string, JsonSchema>;
}

const refusals = {
  Malformed: { status: 400, description: "The request is malformed; the message names the field" },
  Unauthorized: { status: 401, description: "The credential is missing, unknown or revoked" },
  NeedsSession: {
    status: 403,
    description:
      "The route needs a user's session token: not an API key, nor a customer's session (`scope_refused`)",
  },
  Limited: {
    status: 403,
    description:
      "The API key is limited, or the session is a customer's, and may not call this route (`scope_refused`)",
  },
  NeedsRole: {
    status: 403,
    description:
      "The user's role does not allow it (`role_too_low`), or the API key is limited, or the session is a customer's (`scope_refused`)",
  },
  NeedsSessionAndRole: {
    status: 403,
    description:
      "The route needs the session token of a user whose role allows it (`role_too_low`): not an API key, nor a customer's session (`scope_refused`)",
  },
  NeedsPortal: { status: 403, description: "The route needs the session of a customer's portal" },
  NeedsKey: {
    status: 403,
    description:
      "The route needs an API key instead of a session token, or the key is limited, or the session is a customer's (`scope_refused`)",
  },
  NotFound: { status: 404, description: "The caller's organization has no object with this id" },
  TooLarge: { status: 413, description: "The body is larger than the limit" },
  NotJson: {
    status: 415,
    description:
      "The body is not application/json, or has a Content-Encoding (`content_encoding_unsupported`)",
  },
  Unavailable: {
    status: 503,
    description:
      "The service is overloaded, or its database is unavailable. Unless the message says otherwise, nothing was accepted",
  },
} as const;

const requestId = header("X-Request-Id");

function impliedRefusals({ method, path, credential, leastRole }: RouteRecord): (keyof typeof refusals)[] {
  const isForAll = leastRole === "viewer";
  const readsBody = method !== "GET";
  const names: Record<keyof typeof refusals, boolean> = {
    Malformed: true,
    Unauthorized: credential !== "none",
    NeedsSession: credential === "session" && isForAll,
    Limited: credential === "either" && isForAll,
    NeedsRole: credential === "either" && !isForAll,
    NeedsSessionAndRole: credential === "session" && !isForAll,
    NeedsPortal: credential === "portal",
    NeedsKey: credential === "apiKey" || credential === "apiKeyInSql",
    NotFound: path.includes("/:"),
    TooLarge: readsBody,
    NotJson: readsBody,
    Unavailable: path !== "/healthz" && path !== "/metrics",
  };
  return (Object.keys(names) as (keyof typeof refusals)[]).filter((name) => names[name]);
}

/** Statuses of several refusals that a program has to tell apart by `X-Error-Code`. */
const mayHaveCode = new Set([402, 403, 409, 410, 415, 429, 501, 503]);

function describeRefusal(
  status: number,
  description: string,
  headers: JsonSchema,
  body: JsonSchema,
): JsonSchema {
  return {
    description,
    headers: {
      ...headers,
      ...(status === 401 && header("WWW-Authenticate")),
      ...(status === 415 && header("Accept-Encoding")),
      ...((status === 429 || status === 503) && header("Retry-After")),
      ...(mayHaveCode.has(status) && header("X-Error-Code")),
    },
    content: describeContent(body),
  };
}

/** Headers of answers that repeat the answer to an earlier request with the same idempotency key or Claim-Id. */
function replayHeaders(accepted: unknown): JsonSchema {
  const { properties = {} } = (accepted ?? {}) as { properties?: JsonSchema };
  return {
    ...("idempotency-key" in properties && header("Idempotency-Replayed")),
    ...("claim-id" in properties && header("Claim-Replayed")),
  };
}

/** A reference to a header of {@link answerHeaders}: `X-Request-Id` is described as `RequestId`. */
function header(name: string): JsonSchema {
  const component = name.replace("WWW", "Www").replaceAll(/^X-|-/g, "");
  return { [name]: { $ref: `#/components/headers/${component}` } };
}

function describeContent(schema: JsonSchema, example?: unknown): JsonSchema {
  const type = schema["type"] === "string" ? textTypeOf(schema) : "application/json";
  return { [type]: { schema, ...(example !== undefined && { example }) } };
}

/** The media type of a text answer: the schema may have it in place of a description. */
function textTypeOf({ description }: JsonSchema): string {
  return typeof description === "string" && /^text\/[a-z-]+$/.test(description) ? description : "text/plain";
}
