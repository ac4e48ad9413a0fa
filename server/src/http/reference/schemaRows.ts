import type { OpenApiDocument } from "../openapi.ts";
import type { JsonSchema } from "../openapiSchemas.ts";
import { resolve } from "./operations.ts";

/** One member of a body or an answer. */
export interface SchemaRow {
  /** Its path, such as `headers.*` or `messages[].id`. */
  name: string;
  type: string;
  isRequired: boolean;
  description: string;
}

const maxDepth = 4;

/** The members of an object and of the objects nested in it. */
export function schemaRows(
  document: OpenApiDocument,
  schema: JsonSchema,
  prefix = "",
  depth = 0,
): SchemaRow[] {
  const whole = resolved(document, schema);
  if (depth > maxDepth) return [];
  const parts = variants(whole);
  if (parts.length > 0) return unique(parts.flatMap((part) => schemaRows(document, part, prefix, depth)));
  if (whole["items"] !== undefined)
    return schemaRows(document, whole["items"] as JsonSchema, `${prefix}[]`, depth + 1);
  const required = (whole["required"] ?? []) as string[];
  const members = Object.entries((whole["properties"] ?? {}) as Record<string, JsonSchema>);
  return members.flatMap(([name, member]) => {
    const path = prefix === "" ? name : `${prefix}.${name}`;
    const inner = resolved(document, member);
    const row = {
      name: path,
      type: typeOf(document, member),
      isRequired: required.includes(name),
      description: descriptionOf(member) ?? descriptionOf(inner) ?? "",
    };
    return [row].concat(schemaRows(document, inner, path, depth + 1));
  });
}

export function descriptionOf({ description }: JsonSchema): string | undefined {
  return typeof description === "string" ? description : undefined;
}

/** A short description of the allowed values. */
export function typeOf(document: OpenApiDocument, schema: JsonSchema): string {
  const whole = resolved(document, schema);
  if (whole["const"] !== undefined) return JSON.stringify(whole["const"]);
  if (Array.isArray(whole["enum"])) return whole["enum"].map((value) => JSON.stringify(value)).join(" | ");
  const parts = variants(whole);
  if (parts.length > 0) return [...new Set(parts.map((part) => typeOf(document, part)))].join(" | ");
  const type = whole["type"];
  if (type === "array") return `${typeOf(document, (whole["items"] ?? {}) as JsonSchema)}[]`;
  if (Array.isArray(type)) return type.join(" | ");
  return typeof type === "string" ? type : "any";
}

function variants(schema: JsonSchema): JsonSchema[] {
  return (schema["anyOf"] ?? schema["oneOf"] ?? schema["allOf"] ?? []) as JsonSchema[];
}

function resolved(document: OpenApiDocument, schema: JsonSchema): JsonSchema {
  const reference = schema["$ref"];
  return typeof reference === "string" ? (resolve(document, reference) as JsonSchema) : schema;
}

function unique(rows: SchemaRow[]): SchemaRow[] {
  return [...new Map(rows.map((row) => [row.name, row])).values()];
}
