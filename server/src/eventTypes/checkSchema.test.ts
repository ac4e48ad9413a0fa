import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { expect, it } from "vitest";
import { schemaFault } from "./checkSchema.ts";

const keywords = [
  ..."$id $comment title description default readOnly examples multipleOf maximum exclusiveMaximum minimum".split(
    " ",
  ),
  ..."exclusiveMinimum maxLength minLength pattern items maxItems minItems uniqueItems".split(" "),
  ..."contains maxProperties minProperties required additionalProperties definitions properties".split(" "),
  ..."patternProperties dependencies propertyNames const type format contentMediaType".split(" "),
  ..."contentEncoding if then else allOf anyOf oneOf not".split(" "),
];
const since2020 = [
  ..."$anchor $dynamicAnchor $defs prefixItems dependentSchemas dependentRequired minContains maxContains".split(
    " ",
  ),
  ..."unevaluatedItems unevaluatedProperties contentSchema deprecated writeOnly".split(" "),
];

/** Keywords that only one draft has, or that Ajv checks more strictly than the draft does. */
const of7 = ["additionalItems"];
const of2020 = ["enum"];

/** Generates schemas, and values that are almost schemas. */
function schemasOf(words: readonly string[]) {
  return fc.letrec<{ schema: Record<string, unknown>; value: unknown }>((tie) => ({
    schema: fc.dictionary(fc.constantFrom(...words), tie("value"), { maxKeys: 3 }),
    value: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      fc.constantFrom<unknown>(
        0,
        1,
        -1,
        1.5,
        true,
        null,
        "string",
        "a b",
        "x#y",
        "",
        [],
        ["string"],
        ["a", "a"],
      ),
      fc.array(fc.constantFrom<unknown>("null", "array", "b", 1, {}), { maxLength: 3 }),
      tie("schema"),
      fc.array(tie("schema"), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom("a", "b"), tie("value"), { maxKeys: 2 }),
    ),
  })).schema;
}

const options = { strict: false, validateFormats: false, logger: false } as const;

it.each([
  ["draft 2020-12", {}, new Ajv2020(options), [...keywords, ...since2020, ...of2020]],
  [
    "draft 7",
    { $schema: "http://json-schema.org/draft-07/schema#" },
    new Ajv(options),
    [...keywords, ...of7],
  ],
])(
  "schemaFault for %s accepts exactly the schemas that the draft's meta-schema accepts",
  (_name, dialect, ajv, words) => {
    fc.assert(
      fc.property(schemasOf(words), (schema) => {
        const whole = { ...schema, ...dialect };
        expect(schemaFault(whole) === undefined).toBe(ajv.validateSchema(whole));
      }),
      { numRuns: 500 },
    );
  },
);
