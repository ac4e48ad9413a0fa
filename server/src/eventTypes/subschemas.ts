import { isJsonObject } from "../http/contract/json.ts";

/** A schema that is an object. `true` and `false` are also schemas, but have no keywords. */
export type Keywords = Readonly<Record<string, unknown>>;

/** A schema within another schema, and its path. */
export interface Place {
  keywords: Keywords;
  path: readonly string[];
  /** The schema to which `#` refers here: the nearest enclosing schema with its own `$id`, or the root. */
  resource: Keywords;
}

const ofOne =
  "additionalItems additionalProperties contains contentSchema else if items not propertyNames then unevaluatedItems unevaluatedProperties";
/** Keywords whose value is a schema; that of `items` may be a list of schemas in draft 7. */
export const holdOne: ReadonlySet<string> = new Set(ofOne.split(" "));
/** Keywords whose value is a list of schemas. */
export const holdMany: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const ofNamed = "$defs definitions dependencies dependentSchemas patternProperties properties";
/** Keywords whose value is an object of schemas by name. */
export const holdNamed: ReadonlySet<string> = new Set(ofNamed.split(" "));

/**
 * Visits a schema and all schemas within it, each once, until `visit` returns a value. A value that only looks like a schema,
 * such as an example, is not visited.
 */
export function findInSchemas<Found>(
  schema: Keywords,
  visit: (place: Place) => Found | undefined,
): Found | undefined {
  const search = (value: unknown, path: readonly string[], around: Keywords): Found | undefined => {
    if (!isJsonObject(value)) return undefined;
    const resource = path.length > 0 && hasOwnId(value) ? value : around;
    const own = visit({ keywords: value, path, resource });
    if (own !== undefined) return own;
    for (const [keyword, held] of Object.entries(value)) {
      for (const [steps, one] of schemasIn(keyword, held)) {
        const found = search(one, [...path, keyword, ...steps], resource);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  };
  return search(schema, [], schema);
}

/** The schemas directly under a keyword, each with its path from the keyword. */
function schemasIn(keyword: string, held: unknown): [steps: string[], schema: unknown][] {
  if (holdsMany(keyword) && Array.isArray(held)) return held.map((one, index) => [[String(index)], one]);
  if (holdOne.has(keyword)) return [[[], held]];
  if (!holdNamed.has(keyword) || !isJsonObject(held)) return [];
  return Object.entries(held).map(([name, one]) => [[name], one]);
}

/** A copy of a schema in which `change` is applied to the keywords of each schema. Schemas with an `$id` are not changed. */
export function mapSchemas(schema: unknown, change: (keywords: Keywords) => Keywords): unknown {
  if (!isJsonObject(schema) || hasOwnId(schema)) return schema;
  const within = (one: unknown): unknown => mapSchemas(one, change);
  const entries = Object.entries(change(schema)).map(([keyword, held]): [string, unknown] => {
    if (holdsMany(keyword) && Array.isArray(held)) return [keyword, held.map(within)];
    if (holdOne.has(keyword)) return [keyword, within(held)];
    if (holdNamed.has(keyword) && isJsonObject(held)) {
      return [keyword, Object.fromEntries(Object.entries(held).map(([name, one]) => [name, within(one)]))];
    }
    return [keyword, held];
  });
  return Object.fromEntries(entries);
}

function holdsMany(keyword: string): boolean {
  return holdMany.has(keyword) || keyword === "items";
}

/** Whether `#` within this schema refers to it, and not to an enclosing schema. */
function hasOwnId({ $id: id }: Keywords): boolean {
  return typeof id === "string" && !id.startsWith("#");
}
