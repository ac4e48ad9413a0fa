/** A schema that is an object; `true` and `false` are schemas, too, in which nothing has to be looked at. */
export type Keywords = Readonly<Record<string, unknown>>;

/** A schema within another, and where it is. */
export interface Place {
  keywords: Keywords;
  path: readonly string[];
  /** What `#` means in it: the schema around it with an `$id` of its own, or the whole. */
  resource: Keywords;
}

const ofOne =
  "additionalItems additionalProperties contains contentSchema else if items not propertyNames then unevaluatedItems unevaluatedProperties";
/** Keywords of which the value is a schema; of `items` in draft 7 also a list of them. */
export const holdOne: ReadonlySet<string> = new Set(ofOne.split(" "));
/** Keywords of which the value is a list of schemas. */
export const holdMany: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const ofNamed = "$defs definitions dependencies dependentSchemas patternProperties properties";
/** Keywords of which the value has schemas under names. */
export const holdNamed: ReadonlySet<string> = new Set(ofNamed.split(" "));

/** Visits a schema and all within it, each once. What only looks like a schema, as an example may, is not visited. */
export function visitSchemas(schema: Keywords, visit: (place: Place) => void): void {
  const go = (value: unknown, path: readonly string[], around: Keywords): void => {
    if (!isObject(value)) return;
    const resource = path.length > 0 && hasOwnId(value) ? value : around;
    visit({ keywords: value, path, resource });
    for (const [keyword, held] of Object.entries(value)) {
      if (holdsMany(keyword) && Array.isArray(held)) {
        held.forEach((one, index) => go(one, [...path, keyword, String(index)], resource));
      } else if (holdOne.has(keyword)) {
        go(held, [...path, keyword], resource);
      } else if (holdNamed.has(keyword) && isObject(held)) {
        for (const [name, one] of Object.entries(held)) go(one, [...path, keyword, name], resource);
      }
    }
  };
  go(schema, [], schema);
}

/** A copy of a schema in which `change` took the place of each schema's own keywords; what has an `$id` stays as it is. */
export function mapSchemas(schema: unknown, change: (keywords: Keywords) => Keywords): unknown {
  if (!isObject(schema) || hasOwnId(schema)) return schema;
  const within = (one: unknown): unknown => mapSchemas(one, change);
  const entries = Object.entries(change(schema)).map(([keyword, held]): [string, unknown] => {
    if (holdsMany(keyword) && Array.isArray(held)) return [keyword, held.map(within)];
    if (holdOne.has(keyword)) return [keyword, within(held)];
    if (holdNamed.has(keyword) && isObject(held)) {
      return [keyword, Object.fromEntries(Object.entries(held).map(([name, one]) => [name, within(one)]))];
    }
    return [keyword, held];
  });
  return Object.fromEntries(entries);
}

function holdsMany(keyword: string): boolean {
  return holdMany.has(keyword) || keyword === "items";
}

/** Whether `#` means something else in a schema than around it. */
function hasOwnId({ $id: id }: Keywords): boolean {
  return typeof id === "string" && !id.startsWith("#");
}

export function isObject(value: unknown): value is Keywords {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}
