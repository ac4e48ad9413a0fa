import type { Operation, OpenApiDocument } from "../src/http/openapi.ts";
import type { JsonSchema } from "../src/http/openapiSchemas.ts";

/** The text of the SDK's generated file: types of all schemas, and for each operation a typed method and a table row. */
export function sdkOperations(document: OpenApiDocument): string {
  const operations = Object.entries(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    )
    .filter(({ operation }) => !excludedTags.has(operation.tags[0]!) && !excluded.has(operation.operationId))
    .filter(({ operation }) => jsonAnswersOf(operation).length > 0);
  const schemas = Object.entries(document.components.schemas)
    .filter(([name]) => name !== "Error")
    .map(([name, schema]) => `export interface ${name} ${typeOf(schema)}\n`);
  return [
    preamble,
    ...schemas,
    `/** The service's operations, one method each. */\nexport interface Operations {\n${operations.map(methodOf).join("\n")}\n}\n`,
    `/** How each operation becomes an HTTP request. */\nexport const operationTable = {\n${operations.map((one) => rowOf(one, document.components.schemas)).join("\n")}\n} as const satisfies Record<keyof Operations, OperationRow>;\n`,
  ].join("\n");
}

/** Operations that the SDK leaves out: health, metrics, MCP, calls of agents or the payment processor, and the event stream. */
const excludedTags = new Set(["Operation"]);
const excluded = new Set(["receiveBillingEvent", "openStream"]);

const preamble = `// Generated from the OpenAPI document by \`npm run generated\`; change the routes' schemas instead.
import type { CallOptions, OperationRow } from "./request.ts";
`;

interface Described {
  path: string;
  method: string;
  operation: Operation;
}

type Parameters = NonNullable<Operation["parameters"]>;

function parametersIn({ parameters = [] }: Operation, place: Parameters[number]["in"]): Parameters {
  return parameters.filter((one) => one.in === place);
}

function methodOf({ operation }: Described): string {
  const { operationId, summary, description } = operation;
  const inputs = parametersIn(operation, "path").map(({ name }) => `${camel(name)}: string`);
  const body = bodyOf(operation);
  if (body !== undefined) inputs.push(`body${body.required ? "" : "?"}: ${typeOf(body.schema, "  ")}`);
  inputs.push(`options?: ${optionsOf(operation)}`);
  const text = description === undefined ? `${summary}.` : `${summary}. ${description}`;
  return `  /** ${text} */\n  ${operationId}(${inputs.join(", ")}): Promise<${answerOf(operation)}>;`;
}

function optionsOf(operation: Operation): string {
  const headers = parametersIn(operation, "header").map(
    ({ name, description }) => `/** ${description} */ ${camel(name)}?: string`,
  );
  const query = parametersIn(operation, "query").map(
    ({ name, schema, description }) =>
      `${description === undefined ? "" : `/** ${description} */ `}${name}?: ${typeOf(schema)}`,
  );
  const fields = [...headers, ...query];
  return fields.length === 0 ? "CallOptions" : `CallOptions & { ${fields.join("; ")} }`;
}

function answerOf(operation: Operation): string {
  return jsonAnswersOf(operation)
    .map(({ schema }) => typeOf(schema, "  "))
    .join(" | ");
}

/** Schemas of the successful JSON answers; none for a stream, which a method cannot return as one value. */
function jsonAnswersOf({ responses }: Operation): { schema: JsonSchema }[] {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  return successes.flatMap(([, { content }]) => {
    const json = (content as Record<string, { schema: JsonSchema }>)["application/json"];
    return json === undefined ? [] : [json];
  });
}

/** An operation's row in the table. `idempotent`: may be repeated when it is unknown whether the first request arrived. */
function rowOf({ path, method, operation }: Described, schemas: Schemas): string {
  const keyed = parametersIn(operation, "header").find(({ name }) =>
    /^(Idempotency-Key|Claim-Id)$/.test(name),
  );
  const headers = parametersIn(operation, "header").map(
    ({ name }) => `${camel(name)}: "${name.toLowerCase()}"`,
  );
  const query = parametersIn(operation, "query").map(({ name }) => `"${name}"`);
  const fields = [
    `method: "${method.toUpperCase()}"`,
    `path: "${path}"`,
    `hasBody: ${bodyOf(operation) !== undefined}`,
    `headers: { ${headers.join(", ")} }`.replace("{  }", "{}"),
    `query: [${query.join(", ")}]`,
    `idempotent: ${method === "get" || method === "patch" || repeatable.has(operation.operationId)}`,
    ...(keyed === undefined ? [] : [`key: "${camel(keyed.name)}"`]),
    ...answerFieldsOf(operation, schemas)
      .slice(0, 1)
      .map((name) => `answer: "${name}"`),
  ];
  return `  ${operation.operationId}: { ${fields.join(", ")} },`;
}

type Schemas = OpenApiDocument["components"]["schemas"];

/** The fields that all successful answers have. */
function answerFieldsOf(operation: Operation, schemas: Schemas): string[] {
  return commonFields(jsonAnswersOf(operation).map(({ schema }) => requiredOf(schema, schemas)));
}

function requiredOf(schema: JsonSchema, schemas: Schemas): string[] {
  const { $ref, anyOf, required } = schema;
  if (typeof $ref === "string") return requiredOf(schemas[$ref.split("/").at(-1)!]!, schemas);
  if (Array.isArray(anyOf)) return commonFields(anyOf.map((one) => requiredOf(one as JsonSchema, schemas)));
  return (required as string[] | undefined) ?? [];
}

function commonFields(lists: string[][]): string[] {
  return lists[0]!.filter((name) => lists.every((list) => list.includes(name)));
}

/** Operations that can be repeated: the answer is the same, or the claim token makes the repetition have no effect. */
const repeatable = new Set([
  "logOut",
  "logOutAll",
  "refreshTarget",
  "deletePreviousSigningSecret",
  "revokeInvitation",
  "cancelReplay",
  "acknowledgeMessage",
  "acknowledgeMessages",
  "extendClaims",
  "releaseMessages",
  "rejectMessages",
]);

/** Converts `X-Event-Type` to `eventType`. */
function camel(name: string): string {
  return name
    .toLowerCase()
    .replace(/^x-/, "")
    .replaceAll(/[-_](\w)/g, (_whole, letter: string) => letter.toUpperCase());
}

/** The schema of the request body; undefined when the body has no fields. */
function bodyOf({ requestBody }: Operation): { schema: JsonSchema; required: boolean } | undefined {
  if (requestBody === undefined) return undefined;
  const schema = withoutNull(requestBody.content["application/json"].schema);
  const hasFields =
    Object.keys(schema["properties"] ?? {}).length > 0 || isSchema(schema["additionalProperties"]);
  const isEmpty = schema["type"] === "object" && !hasFields;
  return isEmpty ? undefined : { schema, required: requestBody.required };
}

function withoutNull(schema: JsonSchema): JsonSchema {
  const { type } = schema;
  return Array.isArray(type) ? { ...schema, type: type.find((one) => one !== "null") as unknown } : schema;
}

/** A JSON schema as a TypeScript type. */
function typeOf(schema: JsonSchema, indent = ""): string {
  if (typeof schema["$ref"] === "string") return schema["$ref"].split("/").at(-1)!;
  if ("const" in schema) return JSON.stringify(schema["const"]);
  if (Array.isArray(schema["enum"])) return schema["enum"].map((one) => JSON.stringify(one)).join(" | ");
  if (Array.isArray(schema["anyOf"])) {
    return schema["anyOf"].map((one) => typeOf(one as JsonSchema, indent)).join(" | ");
  }
  const { type } = schema;
  if (Array.isArray(type))
    return type.map((one) => typeOf({ ...schema, type: one as string }, indent)).join(" | ");
  switch (type) {
    case "object":
      return objectTypeOf(schema, indent);
    case "array": {
      const element = typeOf((schema["items"] as JsonSchema | undefined) ?? {}, indent);
      return element.includes(" | ") ? `(${element})[]` : `${element}[]`;
    }
    case "integer":
    case "number":
      return "number";
    case "string":
    case "boolean":
    case "null":
      return type;
    default:
      return "unknown";
  }
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null;
}

function objectTypeOf(schema: JsonSchema, indent: string): string {
  const properties = Object.entries((schema["properties"] as Record<string, JsonSchema> | undefined) ?? {});
  if (properties.length === 0) {
    const values = schema["additionalProperties"];
    return `Record<string, ${isSchema(values) ? typeOf(values, indent) : "unknown"}>`;
  }
  const required = (schema["required"] as string[] | undefined) ?? [];
  const fields = properties.map(([name, property]) => {
    const { description } = property;
    const comment = typeof description === "string" ? `${indent}  /** ${description} */\n` : "";
    const mark = required.includes(name) ? "" : "?";
    return `${comment}${indent}  ${name}${mark}: ${typeOf(property, `${indent}  `)};`;
  });
  return `{\n${fields.join("\n")}\n${indent}}`;
}
