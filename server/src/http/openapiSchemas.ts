/** A JSON Schema of draft 2020-12 as plain data. */
export type JsonSchema = { [keyword: string]: unknown };

/** The named schemas of a document, collected while the document is built. */
export type NamedSchemas = Map<string, JsonSchema>;

/**
 * A schema in the form of the OpenAPI document. Schemas with a `title` move to `named`, and a reference takes their place. Unions
 * of constants become `enum`, and unions with null become a list of types.
 * @throws {Error} when two different schemas have the same title.
 */
export function describeSchema(schema: unknown, named: NamedSchemas): JsonSchema {
  const { title, ...rest } = simplify(mapSubschemas(plain(schema), (one) => describeSchema(one, named)));
  if (typeof title !== "string") return rest;
  const known = named.get(title);
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(rest)) {
    throw new Error(`two different schemas have the title ${title}`);
  }
  named.set(title, rest);
  return { $ref: `#/components/schemas/${title}` };
}

/** A copy without TypeBox's internal properties. */
function plain(schema: unknown): JsonSchema {
  return JSON.parse(JSON.stringify(schema)) as JsonSchema;
}

function mapSubschemas(schema: JsonSchema, map: (schema: unknown) => JsonSchema): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (keyword === "properties" || keyword === "patternProperties") {
        const entries = Object.entries(value as JsonSchema).map(([name, one]) => [name, map(one)]);
        return [keyword, Object.fromEntries(entries)];
      }
      if (keyword === "items" || (keyword === "additionalProperties" && typeof value === "object")) {
        return [keyword, map(value)];
      }
      if (["anyOf", "oneOf", "allOf"].includes(keyword)) return [keyword, (value as unknown[]).map(map)];
      return [keyword, value];
    }),
  );
}

function simplify(schema: JsonSchema): JsonSchema {
  const { anyOf, patternProperties, ...rest } = schema;
  if (patternProperties !== undefined) {
    const values = Object.values(patternProperties as JsonSchema);
    return { ...rest, additionalProperties: values[0] };
  }
  if (!Array.isArray(anyOf)) return schema;
  const members = anyOf as JsonSchema[];
  if (members.every((member) => "const" in member)) {
    return { ...rest, type: "string", enum: members.map((member) => member["const"]) };
  }
  const [first, second] = members;
  if (members.length === 2 && second!["type"] === "null" && typeof first!["type"] === "string") {
    const values = first!["enum"] as unknown[] | undefined;
    return {
      ...first,
      ...rest,
      type: [first!["type"], "null"],
      ...(values !== undefined && { enum: [...values, null] }),
    };
  }
  return schema;
}
