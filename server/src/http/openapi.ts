import { version } from "../config/version.ts";
import { answerHeaders, commonRefusals, describeResponses } from "./openapiResponses.ts";
import { describeSchema, type JsonSchema, type NamedSchemas } from "./openapiSchemas.ts";
import { type Examples, type RouteRecord, tags } from "./contract/route.ts";
import { keyScopes } from "./contract/scope.ts";

/** The parts of an operation of the document that the service's own tools read. */
export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security: Record<string, string[]>[];
  /** The limited keys that the operation accepts, too. */
  "x-limited-keys"?: string[];
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: { "application/json": MediaType } };
  responses: Record<string, JsonSchema>;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description?: string;
  schema: JsonSchema;
}

interface MediaType {
  schema: JsonSchema;
  examples?: Record<string, { summary: string; value: unknown }>;
}

export interface OpenApiDocument {
  openapi: "3.1.0";
  info: { title: string; version: string; description: string } & JsonSchema;
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonSchema> } & JsonSchema;
  [field: string]: unknown;
}

/** The OpenAPI 3.1 document, with the routes in their order. */
export function openApiDocument(routes: readonly RouteRecord[]): OpenApiDocument {
  const named: NamedSchemas = new Map();
  const paths: OpenApiDocument["paths"] = {};
  for (const route of routes) {
    (paths[templatePath(route.path)] ??= {})[route.method.toLowerCase()] = describeOperation(route, named);
  }
  const responses = commonRefusals(named);
  return {
    openapi: "3.1.0",
    info: {
      title: "Postrider",
      version,
      summary: "Accepts items over HTTP and delivers each one to its target",
      description: introduction,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    tags: [...tags],
    paths,
    components: {
      schemas: Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1))),
      responses,
      headers: answerHeaders,
      securitySchemes,
    },
  };
}

/** A path in OpenAPI's form: `/t/:target_id` becomes `/t/{target_id}`. */
export function templatePath(path: string): string {
  return path.replaceAll(/:(\w+)/g, "{$1}");
}

const introduction = `Bodies are JSON in UTF-8; timestamps are Unix seconds; ids are 32 lower-case hexadecimal characters.
Every error is \`{"error": "<message>"}\`; \`X-Error-Code\` distinguishes errors that have the same status. Every answer carries \`X-Request-Id\`. Unknown fields of a body are ignored. Routes with a credential that are called with GET, or have query parameters, refuse unknown query parameters with 400.
An id of another organization gets the same answer as an unknown id.
A request that is not valid HTTP/1.1 is refused before routing: 400, 408, 413, 417, 431, 501, 505.`;

const securitySchemes = {
  apiKey: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "ak_live_<64 hex characters>",
    description:
      "An API key, for programs. Limited keys are accepted by operations whose `x-limited-keys` names their scope",
  },
  portal: {
    type: "apiKey",
    in: "header",
    name: "X-Session-Token",
    description:
      "A session of a customer's portal, created with the code of a link; limited to the customer's own data",
  },
  session: {
    type: "apiKey",
    in: "header",
    name: "X-Session-Token",
    description:
      "A session token from signup or login, for people; the scope names the least role that the user needs: viewer, member or admin",
  },
};

/** The credentials that a route accepts; a session is listed with the least role that its user needs. */
function securityOf({ credential, leastRole, scope }: RouteRecord): Operation["security"] {
  const session = { session: [leastRole ?? "viewer"] };
  switch (credential) {
    case "none":
      return [];
    case "session":
      return [session];
    case "either":
      return [{ apiKey: [] }, session, ...(scope?.takes.includes("portal") === true ? [{ portal: [] }] : [])];
    case "portal":
      return [{ portal: [] }];
    case "apiKey":
    case "apiKeyInSql":
      return [{ apiKey: [] }];
  }
}

function describeOperation(route: RouteRecord, named: NamedSchemas): Operation {
  const { operationId, tag, summary, description, scope, rawBody, examples } = route;
  const limitedKeys = keyScopes.filter((one) => scope?.takes.includes(one));
  const parameters = describeParameters(route, named);
  const anyJson = rawBody === "json" ? {} : undefined;
  const body = route.body === undefined ? anyJson : describeSchema(route.body, named);
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: securityOf(route),
    ...(limitedKeys.length > 0 && { "x-limited-keys": limitedKeys }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: !allowsNull(body),
        content: { "application/json": { schema: body, ...requestExamples(examples) } },
      },
    }),
    responses: describeResponses(route, named),
  };
}

/** Whether the schema allows null. A body that may be null may also be absent. */
function allowsNull({ type, anyOf }: JsonSchema): boolean {
  return [type, anyOf]
    .flat()
    .some((one) => one === "null" || (one as JsonSchema | undefined)?.["type"] === "null");
}

function requestExamples(examples: Examples | undefined): Pick<MediaType, "examples"> {
  if (examples?.request === undefined) return {};
  const named = Object.entries(examples.request).map(([summary, value], index) => [
    `example${index + 1}`,
    { summary, value },
  ]);
  return { examples: Object.fromEntries(named) };
}

function describeParameters({ params, query, headers }: RouteRecord, named: NamedSchemas): Parameter[] {
  const locations = [
    ["path", params],
    ["query", query],
    ["header", headers],
  ] as const;
  return locations.flatMap(([location, declared]) => {
    const { properties = {}, required = [] } = (declared ?? {}) as {
      properties?: Record<string, unknown>;
      required?: string[];
    };
    return Object.entries(properties).map(([name, one]) =>
      describeParameter(location, name, required.includes(name), describeSchema(one, named)),
    );
  });
}

function describeParameter(
  location: Parameter["in"],
  name: string,
  required: boolean,
  { description, ...schema }: JsonSchema,
): Parameter {
  const parameter: Parameter = {
    name: location === "header" ? headerName(name) : name,
    in: location,
    // A parameter with a default may be left out, although its schema requires it.
    required: required && schema["default"] === undefined,
    schema,
  };
  return description === undefined ? parameter : { ...parameter, description: description as string };
}

/** A header's name in its usual case: `X-Event-Type` for `x-event-type`. */
function headerName(name: string): string {
  return name
    .replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())
    .replace("Correlation-Id", "Correlation-ID");
}
