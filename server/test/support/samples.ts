import type { JsonSchema } from "../../src/http/openapiSchemas.ts";

/** A value that the schema accepts: its first example, else the smallest with all required fields. */
export function sampleOf(schema: JsonSchema): unknown {
  const [example] = (schema["examples"] as unknown[] | undefined) ?? [];
  if (example !== undefined) return example;
  if ("const" in schema) return schema["const"];
  if (Array.isArray(schema["enum"])) return schema["enum"][0] as unknown;
  if (Array.isArray(schema["anyOf"])) return sampleOf(schema["anyOf"][0] as JsonSchema);
  const type = Array.isArray(schema["type"]) ? (schema["type"][0] as string) : schema["type"];
  switch (type) {
    case "object":
      return sampleObject(schema);
    case "array":
      return Array.from({ length: (schema["minItems"] as number | undefined) ?? 1 }, () =>
        sampleOf((schema["items"] as JsonSchema | undefined) ?? {}),
      );
    case "integer":
    case "number":
      return schema["default"] ?? schema["minimum"] ?? 1;
    case "boolean":
      return true;
    case "null":
      return null;
    case "string":
      return sampleText(schema);
    default:
      return { any: "value" };
  }
}

function sampleObject(schema: JsonSchema): Record<string, unknown> {
  const required = (schema["required"] as string[] | undefined) ?? [];
  const properties = (schema["properties"] as Record<string, JsonSchema> | undefined) ?? {};
  return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name] ?? {})]));
}

function sampleText({ pattern, minLength }: JsonSchema): string {
  if (typeof pattern === "string" && pattern.includes("[0-9a-f]{32}")) return "0".repeat(32);
  return "x".repeat(Math.max(1, (minLength as number | undefined) ?? 1));
}
