import { gunzipSync } from "node:zlib";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { FastifyInstance } from "fastify";
import { type AppDeps, interfaceRoutes } from "../../src/app.ts";
import { loadConfig } from "../../src/config/config.ts";
import { type OpenApiDocument, openApiDocument, templatePath } from "../../src/http/openapi.ts";
import type { JsonSchema } from "../../src/http/openapiSchemas.ts";

/** An answer of the service, and the route that gave it. */
export interface GivenAnswer {
  method: string;
  /** The path as written in the OpenAPI document; undefined when no route handled the request. */
  path: string | undefined;
  status: number;
  headers: Record<string, unknown>;
  text: string;
}

/** The OpenAPI document of the current code. */
export const openApi: OpenApiDocument = openApiDocument(
  interfaceRoutes({ config: loadConfig({}) } as AppDeps),
);

/**
 * Returns how an answer violates the OpenAPI document, or undefined. The check is stricter than the document in
 * two ways: objects may have no field that their schema does not declare, and an answer of 500 is always wrong.
 */
export function contractProblem(answer: GivenAnswer): string | undefined {
  const { method, path, status, text } = answer;
  const what = `${method} ${path ?? "(no route)"} answered ${status}`;
  if (ofTheProtocol.includes(status)) return commonProblem(what, answer);
  if (status === 500) return `${what}: ${text}`;
  if (path === undefined) return commonProblem(what, answer);
  const operation = openApi.paths[path]?.[method.toLowerCase()];
  if (operation === undefined) return path.startsWith("/api/") ? `${what}: it is not documented` : undefined;
  const response = operation.responses[String(status)];
  if (response === undefined) return `${what}, which is not documented: ${text}`;
  const { content, headers } = resolve(response) as {
    content?: Record<string, { schema: JsonSchema }>;
    headers: Record<string, JsonSchema>;
  };
  return (
    commonProblem(what, answer) ?? headerProblem(what, answer, headers) ?? bodyProblem(what, answer, content)
  );
}

/** Refusals of HTTP itself, before a route is chosen. */
const ofTheProtocol = [501, 505];

/** The path in the document that a request's path belongs to; a literal path precedes one with parameters. */
export function documentedPath(path: string): string | undefined {
  const pathname = path.split("?", 1)[0]!;
  if (openApi.paths[pathname] !== undefined) return pathname;
  return pathPatterns.find(([pattern]) => pattern.test(pathname))?.[1];
}

const pathPatterns = Object.keys(openApi.paths).map((path): [RegExp, string] => [
  new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
  path,
]);

/** Checks every answer of an app that is not listening yet; problems are added to the returned list. */
export function watchContract(app: FastifyInstance): string[] {
  const problems: string[] = [];
  app.addHook("onSend", async (request, reply, payload) => {
    if (request.method === "HEAD" || (typeof payload !== "string" && !Buffer.isBuffer(payload))) return;
    const route = request.routeOptions.url;
    const problem = contractProblem({
      method: request.method,
      path: route === undefined ? undefined : templatePath(route),
      status: reply.statusCode,
      headers: reply.getHeaders(),
      text: plainText(payload, reply.getHeader("content-encoding")),
    });
    if (problem !== undefined) problems.push(problem);
  });
  return problems;
}

function plainText(payload: string | Buffer, encoding: unknown): string {
  return (encoding === "gzip" ? gunzipSync(payload) : payload).toString();
}

function commonProblem(what: string, { path, status, headers, text }: GivenAnswer): string | undefined {
  if (typeof headers["x-request-id"] !== "string") return `${what} without X-Request-Id`;
  if (status < 400) return undefined;
  if (!String(headers["content-type"]).startsWith("application/json")) return `${what} and not as JSON`;
  if (status === 429 && !/^[1-9]\d*$/.test(String(headers["retry-after"])))
    return `${what} without Retry-After`;
  const body = JSON.parse(text) as Record<string, unknown>;
  // The schema of /mcp's refusals is checked together with its document.
  if (path === "/mcp" && body["jsonrpc"] === "2.0") return undefined;
  const isError = Object.keys(body).join() === "error" && typeof body["error"] === "string";
  return isError ? undefined : `${what} with a body other than {"error": string}: ${text}`;
}

function headerProblem(
  what: string,
  answer: GivenAnswer,
  documented: Record<string, JsonSchema>,
): string | undefined {
  const names = Object.keys(documented).map((name) => name.toLowerCase());
  const undocumented = Object.keys(answer.headers).find(
    (name) => noteworthy.includes(name) && !names.includes(name),
  );
  return undocumented && `${what} with the header ${undocumented}, which is not documented`;
}

const noteworthy = [
  "retry-after",
  "x-error-code",
  "ratelimit",
  "ratelimit-policy",
  "idempotency-replayed",
  "claim-replayed",
  "location",
  "content-disposition",
  "mcp-session-id",
  "www-authenticate",
  "accept-encoding",
  "allow",
];

function bodyProblem(
  what: string,
  { headers, text }: GivenAnswer,
  content: Record<string, { schema: JsonSchema }> | undefined,
): string | undefined {
  if (content === undefined) return text === "" ? undefined : `${what} with a body, which is not documented`;
  const [type, { schema }] = Object.entries(content)[0]!;
  const given = String(headers["content-type"]);
  if (!given.startsWith(type)) return `${what} as ${given} and not ${type}`;
  if (type !== "application/json") return undefined;
  const problem = schemaProblem(schema, JSON.parse(text));
  return problem && `${what} with a body unlike its schema: ${problem}: ${text}`;
}

/** Returns how a value violates a schema of the document, or undefined. */
export function schemaProblem(schema: JsonSchema, value: unknown): string | undefined {
  const validate = validator(schema);
  if (validate(value)) return undefined;
  const [first] = validate.errors ?? [];
  return `${first?.instancePath} ${first?.message} ${JSON.stringify(first?.params)}`;
}

const ajv = new Ajv2020({ strict: false, allErrors: false });
ajv.addSchema({ $id: "document", components: { schemas: closed(openApi.components.schemas) } });
const validators = new WeakMap<JsonSchema, ValidateFunction>();

function validator(schema: JsonSchema): ValidateFunction {
  let validate = validators.get(schema);
  if (validate === undefined) {
    validate = ajv.compile(closed(schema) as JsonSchema);
    validators.set(schema, validate);
  }
  return validate;
}

/** The schema with undeclared fields forbidden in every object, and its references resolved in the document. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (schema === null || typeof schema !== "object") return schema;
  const copy = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      keyword === "$ref" ? `document${value as string}` : closed(value),
    ]),
  );
  const isOpen = typeof copy["properties"] === "object" && copy["type"] === "object";
  return isOpen && copy["additionalProperties"] === undefined
    ? { ...copy, additionalProperties: false }
    : copy;
}

function resolve(part: JsonSchema): JsonSchema {
  const reference = part["$ref"];
  if (typeof reference !== "string") return part;
  let found: unknown = openApi;
  for (const name of reference.slice(2).split("/")) found = (found as Record<string, unknown>)[name];
  return found as JsonSchema;
}
