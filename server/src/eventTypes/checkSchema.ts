import { resolveLocal } from "./openApiDocument.ts";
import type { JsonSchema } from "./schemas.ts";
import { findInSchemas, holdMany, holdNamed, holdOne, type Place } from "./subschemas.ts";
import { isJsonObject } from "../http/contract/json.ts";

/** The most characters of a `pattern`. The engine compiles the pattern and never matches anything with it. */
const maxPatternCharacters = 1_024;
const maxShownPlaceCharacters = 200;

const draft2020 = "https://json-schema.org/draft/2020-12/schema";
const draft7 = "http://json-schema.org/draft-07/schema#";

/** The dialects by the value of `$schema`. OpenAPI's dialect is draft 2020-12 with some additional keywords. */
const dialects = new Map<unknown, Dialect>([
  [draft2020, "draft2020"],
  [`${draft2020}#`, "draft2020"],
  ["https://spec.openapis.org/oas/3.1/dialect/base", "draft2020"],
  [draft7, "draft7"],
  [draft7.slice(0, -1), "draft7"],
]);

/**
 * Why a schema is refused, with the place: a keyword has a value that its dialect does not allow, a pattern is no regular
 * expression, or a reference into the schema points to nothing. The time is proportional to the size of the schema, because the
 * schema is neither compiled nor applied to anything.
 */
export function schemaFault(schema: JsonSchema): string | undefined {
  const dialect = dialects.get(schema["$schema"] ?? draft2020);
  if (dialect === undefined) return `schema.$schema must be ${draft2020} or ${draft7}, or be left out`;
  return findInSchemas(
    schema,
    (place) => keywordsFault(dialect, place) ?? referenceFault(place) ?? patternsFault(place),
  );
}

function keywordsFault(dialect: Dialect, { keywords, path }: Place): string | undefined {
  for (const [keyword, value] of Object.entries(keywords)) {
    // Schemas within the value are visited by themselves.
    const fault = (ofDialect[dialect].get(keyword) ?? forms.get(keyword))?.(value);
    if (fault !== undefined) return at([...path, keyword], fault);
  }
  return undefined;
}

/** Checks references into the schema. References out of it are not checked, because nothing is fetched. */
function referenceFault({ keywords: { $ref: reference }, path, resource }: Place): string | undefined {
  if (typeof reference !== "string" || !(reference === "#" || reference.startsWith("#/"))) return undefined;
  return resolveLocal(resource, reference) === undefined
    ? at([...path, "$ref"], "points to nothing")
    : undefined;
}

function patternsFault({ keywords: { pattern, patternProperties }, path }: Place): string | undefined {
  const fault = typeof pattern === "string" ? patternFault([...path, "pattern"], pattern) : undefined;
  if (fault !== undefined || !isJsonObject(patternProperties)) return fault;
  for (const name of Object.keys(patternProperties)) {
    const found = patternFault([...path, "patternProperties", name], name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function patternFault(path: readonly string[], pattern: string): string | undefined {
  if (pattern.length > maxPatternCharacters) {
    return at(path, `must have at most ${maxPatternCharacters} characters`);
  }
  try {
    // Without the flag u: with it, each class such as \p{L} would cost a lookup of a tenth of a millisecond.
    // oxlint-disable-next-line no-new -- the constructor throws for an invalid pattern
    new RegExp(pattern);
    return undefined;
  } catch {
    return at(path, "is not a valid regular expression of ECMA-262");
  }
}

function at(path: readonly string[], fault: string): string {
  const place = ["schema", ...path].join(".");
  const shown =
    place.length > maxShownPlaceCharacters
      ? `${place.slice(0, maxShownPlaceCharacters).toWellFormed()}…`
      : place;
  return `${shown} ${fault}`;
}

/** The drafts of JSON Schema that schemas of event types may use. */
type Dialect = "draft7" | "draft2020";

/** Why a keyword cannot have a value, as words that follow the keyword's name; undefined when it can. */
type Form = (value: unknown) => string | undefined;

const form =
  (isOne: (value: unknown) => boolean, rule: string): Form =>
  (value) =>
    isOne(value) ? undefined : rule;

const types = ["array", "boolean", "integer", "null", "number", "object", "string"];
const isType = (value: unknown): boolean => types.includes(value as string);
const isSchema = (value: unknown): boolean => typeof value === "boolean" || isJsonObject(value);
const areSchemas = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(isSchema);

/** Whether a value is a list of at least `least` elements, all different and all accepted by `isOne`. */
function areDistinct(value: unknown, isOne: (one: unknown) => boolean, least = 0): boolean {
  return (
    Array.isArray(value) &&
    value.length >= least &&
    value.every(isOne) &&
    new Set(value).size === value.length
  );
}

const isText = (value: unknown): boolean => typeof value === "string";
const areNames = (value: unknown): boolean => areDistinct(value, isText);
const isNumber = (value: unknown): boolean => typeof value === "number" && Number.isFinite(value);

const text = form(isText, "must be a string");
const count = form(
  (value) => Number.isInteger(value) && (value as number) >= 0,
  "must be an integer that is not negative",
);
const number = form(isNumber, "must be a number");
const yesOrNo = form((value) => typeof value === "boolean", "must be a boolean");
const list = form(Array.isArray, "must be a list");
const schemas = form(areSchemas, "must be a list of at least one schema");
const schema = form(isSchema, "must be a schema: an object, true or false");
const named = form(
  (value) => isJsonObject(value) && Object.values(value).every(isSchema),
  "must be an object of schemas",
);

const each = (keywords: string, of: Form): [string, Form][] =>
  keywords.split(" ").map((keyword) => [keyword, of]);

const forms = new Map<string, Form>([
  ...each(
    "$comment $ref $dynamicRef contentEncoding contentMediaType description format pattern title",
    text,
  ),
  ...each("maxContains maxItems maxLength maxProperties minContains minItems minLength minProperties", count),
  ...each("exclusiveMaximum exclusiveMinimum maximum minimum", number),
  ...each("deprecated readOnly uniqueItems writeOnly", yesOrNo),
  ...each("enum examples", list),
  ...[...holdOne].map((keyword): [string, Form] => [keyword, schema]),
  ...[...holdMany].map((keyword): [string, Form] => [keyword, schemas]),
  ...[...holdNamed].map((keyword): [string, Form] => [keyword, named]),
  ["multipleOf", form((value) => isNumber(value) && (value as number) > 0, "must be a number above 0")],
  ["required", form(areNames, "must be a list of different names")],
  [
    "type",
    form(
      (value) => isType(value) || areDistinct(value, isType, 1),
      `must be one of ${types.join(", ")}, or a list of different types`,
    ),
  ],
  [
    "dependentRequired",
    form(
      (value) => isJsonObject(value) && Object.values(value).every(areNames),
      "must be an object of lists of names",
    ),
  ],
  [
    "dependencies",
    form(
      (value) => isJsonObject(value) && Object.values(value).every((one) => isSchema(one) || areNames(one)),
      "must be an object of schemas and of lists of names",
    ),
  ],
]);

const identifier = form(
  (value) => isText(value) && /^[A-Za-z_][-A-Za-z0-9._]*$/.test(value as string),
  "must begin with a letter or _, and contain only letters, digits and - . _",
);

/** The keywords on which the drafts differ. */
const ofDialect: Record<Dialect, ReadonlyMap<string, Form>> = {
  draft7: new Map([
    ["$id", text],
    [
      "items",
      form(
        (value) => isSchema(value) || areSchemas(value),
        "must be a schema, or a list of at least one schema",
      ),
    ],
  ]),
  draft2020: new Map([
    ["$id", form((value) => isText(value) && /^[^#]*#?$/.test(value as string), "must not have a fragment")],
    ["$anchor", identifier],
    ["$dynamicAnchor", identifier],
    ["items", form(isSchema, "must be a schema: use prefixItems for a list of schemas")],
  ]),
};
