import { ApiError } from "../http/contract/errors.ts";
import { resolveLocal } from "./jsonPointer.ts";
import { type Dialect, keywordFault } from "./keywordForms.ts";
import type { JsonSchema } from "./schemas.ts";
import { isObject, type Place, visitSchemas } from "./subschemas.ts";

/** Characters of a `pattern`: the engine reads it, and never matches anything with it. */
const maxPatternCharacters = 1_024;
const maxShownPlaceCharacters = 200;

const draft2020 = "https://json-schema.org/draft/2020-12/schema";
const draft7 = "http://json-schema.org/draft-07/schema#";

/** What `$schema` may say; that of OpenAPI is the one of 2020-12 with some words of its own. */
const dialects = new Map<unknown, Dialect>([
  [draft2020, "draft2020"],
  [`${draft2020}#`, "draft2020"],
  ["https://spec.openapis.org/oas/3.1/dialect/base", "draft2020"],
  [draft7, "draft7"],
  [draft7.slice(0, -1), "draft7"],
]);

/**
 * Whether a schema is one: each keyword has a value that its dialect takes, patterns are regular expressions, and
 * references within it point to something. It takes time in proportion to the schema, because nothing of it is carried out:
 * neither is it compiled, nor is anything held against it.
 * @throws {ApiError} 400 that names the place.
 */
export function checkSchema(schema: JsonSchema): void {
  const dialect = dialects.get(schema["$schema"] ?? draft2020);
  if (dialect === undefined) {
    throw new ApiError(400, `schema.$schema must be ${draft2020} or ${draft7}, or be left out`);
  }
  visitSchemas(schema, (place) => {
    for (const [keyword, value] of Object.entries(place.keywords)) {
      const fault = keywordFault(dialect, keyword, value);
      if (fault !== undefined) throw refused([...place.path, keyword], fault);
    }
    checkReference(place);
    checkPatterns(place);
  });
}

function checkPatterns({ keywords: { pattern, patternProperties }, path }: Place): void {
  if (typeof pattern === "string") checkPattern([...path, "pattern"], pattern);
  if (!isObject(patternProperties)) return;
  for (const name of Object.keys(patternProperties)) checkPattern([...path, "patternProperties", name], name);
}

function checkPattern(path: readonly string[], pattern: string): void {
  if (pattern.length > maxPatternCharacters) {
    throw refused(path, `must have at most ${maxPatternCharacters} characters`);
  }
  try {
    // Without the flag u, with which each class such as \p{L} would be looked up: that takes a tenth of a millisecond.
    // oxlint-disable-next-line no-new -- only whether it can be made counts
    new RegExp(pattern);
  } catch {
    throw refused(path, "is no regular expression of ECMA-262");
  }
}

/** What leads out of the schema is left as it is: nothing is fetched. */
function checkReference({ keywords: { $ref: reference }, path, resource }: Place): void {
  if (typeof reference !== "string" || !(reference === "#" || reference.startsWith("#/"))) return;
  if (resolveLocal(resource, reference) === undefined) throw refused([...path, "$ref"], "points to nothing");
}

function refused(path: readonly string[], why: string): ApiError {
  const place = ["schema", ...path].join(".");
  const shown =
    place.length > maxShownPlaceCharacters
      ? `${place.slice(0, maxShownPlaceCharacters).toWellFormed()}…`
      : place;
  return new ApiError(400, `${shown} ${why}`);
}
