import { resolveLocal } from "./jsonPointer.ts";
import { type Dialect, keywordFault } from "./keywordForms.ts";
import type { JsonSchema } from "./schemas.ts";
import { findInSchemas, type Place } from "./subschemas.ts";
import { isJsonObject } from "../http/contract/json.ts";

/** Characters of a `pattern`: the engine reads it, and never matches anything with it. */
const maxPatternCharacters = 1_024;
const maxShownPlaceCharacters = 200;

const draft2020 = "https://json-schema.org/draft/2020-12/schema";
const draft7 = "http://json-schema.org/draft-07/schema#";

/** The dialects by the values of `$schema`; OpenAPI's is draft 2020-12 with a few keywords more. */
const dialects = new Map<unknown, Dialect>([
  [draft2020, "draft2020"],
  [`${draft2020}#`, "draft2020"],
  ["https://spec.openapis.org/oas/3.1/dialect/base", "draft2020"],
  [draft7, "draft7"],
  [draft7.slice(0, -1), "draft7"],
]);

/**
 * Why a schema is refused, with the place: a keyword has a value that its dialect does not take, a pattern is no regular
 * expression, or a reference within it points to nothing. Takes time in proportion to the schema, because the schema is neither
 * compiled nor applied to anything.
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
    const fault = keywordFault(dialect, keyword, value);
    if (fault !== undefined) return at([...path, keyword], fault);
  }
  return undefined;
}

/** References out of the schema are left as they are: nothing is fetched. */
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
    // Without the flag u, which would look up each class such as \p{L} and take a tenth of a millisecond for it.
    // oxlint-disable-next-line no-new -- only whether it can be made counts
    new RegExp(pattern);
    return undefined;
  } catch {
    return at(path, "is no regular expression of ECMA-262");
  }
}

/** A fault with the place that it is about. */
function at(path: readonly string[], fault: string): string {
  const place = ["schema", ...path].join(".");
  const shown =
    place.length > maxShownPlaceCharacters
      ? `${place.slice(0, maxShownPlaceCharacters).toWellFormed()}…`
      : place;
  return `${shown} ${fault}`;
}
