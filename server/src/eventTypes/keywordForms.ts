import { holdMany, holdNamed, holdOne } from "./subschemas.ts";
import { isJsonObject } from "../http/contract/json.ts";

/** The drafts of JSON Schema that a catalogue takes. */
export type Dialect = "draft7" | "draft2020";

/** Why a keyword cannot have a value, after the keyword's name; undefined where it can. */
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

/** Whether a value is a list of at least `least` different elements that `isOne` takes. */
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
  "must be a whole number from 0",
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
  ["required", form(areNames, "must be a list of names, each once")],
  [
    "type",
    form(
      (value) => isType(value) || areDistinct(value, isType, 1),
      `must be one of ${types.join(", ")}, or a list of some, each once`,
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
  "must begin with a letter or _, and have only letters, digits and - . _",
);

/** The keywords on which the drafts differ. */
const ofDialect: Record<Dialect, ReadonlyMap<string, Form>> = {
  draft7: new Map([
    ["$id", text],
    [
      "items",
      form((value) => isSchema(value) || areSchemas(value), "must be a schema, or a list of at least one"),
    ],
  ]),
  draft2020: new Map([
    ["$id", form((value) => isText(value) && /^[^#]*#?$/.test(value as string), "must have no fragment")],
    ["$anchor", identifier],
    ["$dynamicAnchor", identifier],
    ["items", form(isSchema, "must be a schema: a list of them is called prefixItems")],
  ]),
};

/** Why a keyword cannot have this value, without looking into schemas within it; undefined where it can. */
export function keywordFault(dialect: Dialect, keyword: string, value: unknown): string | undefined {
  return (ofDialect[dialect].get(keyword) ?? forms.get(keyword))?.(value);
}
