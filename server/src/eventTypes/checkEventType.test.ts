import { expect, it } from "vitest";
import { checkEventType } from "./checkEventType.ts";

const check = (given: object) =>
  checkEventType({
    name: "a",
    description: "",
    group: "",
    deprecated: false,
    schema: null,
    example: null,
    ...given,
  });

const matching = (message: string | RegExp): unknown =>
  typeof message === "string" ? message : expect.stringMatching(message);

it.each([
  ["over 64 KiB", { title: "x".repeat(65_536) }, "schema has 65548 bytes as JSON: 65536 are allowed"],
  [
    "of an unknown dialect",
    { $schema: "http://json-schema.org/draft-04/schema#" },
    /^schema\.\$schema must be/,
  ],
  [
    "with an unknown type",
    { properties: { a: { type: "text" } } },
    /^schema\.properties\.a\.type must be one of array/,
  ],
  ["with a word of draft 4", { exclusiveMinimum: true }, "schema.exclusiveMinimum must be a number"],
  ["with doubles in required", { required: ["a", "a"] }, "schema.required must be a list of different names"],
  ["with a pattern that is none", { pattern: "(" }, /^schema\.pattern is not a valid regular expression/],
  [
    "with a name that is no pattern",
    { patternProperties: { "[": {} } },
    /^schema\.patternProperties\.\[ is no/,
  ],
  ["with a long pattern", { pattern: "x".repeat(1_025) }, "schema.pattern must have at most 1024 characters"],
  [
    "with a list of items",
    { items: [{}] },
    "schema.items must be a schema: use prefixItems for a list of schemas",
  ],
  ["with a reference to nothing", { items: { $ref: "#/$defs/none" } }, "schema.items.$ref points to nothing"],
  ["with half an escape in a reference", { $ref: "#/%4" }, "schema.$ref points to nothing"],
  [
    "with a fault in draft 7",
    { $schema: "http://json-schema.org/draft-07/schema#", items: [{ type: 1 }] },
    /^schema\.items\.0\.type must/,
  ],
])("a schema %s is refused with the path of the fault", (_name, schema, message) => {
  expect(check({ schema })).toEqual({ ok: false, message: matching(message) });
});

it("keyword names are allowed as property names and in values, and the order of members is kept", () => {
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    properties: {
      $ref: { type: "string" },
      pattern: true,
      default: { const: { $ref: "#/none", type: "text", pattern: "(" } },
    },
    definitions: { a: { $id: "a.json", items: [{ $ref: "#/definitions/b" }], definitions: { b: {} } } },
    items: { $ref: "other.json#/x" },
    default: JSON.parse('{"__proto__": 1}') as object,
  };
  expect(check({ schema })).toMatchObject({ ok: true, value: { schema: JSON.stringify(schema) } });
});

it("a pattern is never matched against the example, so that an exponential pattern is harmless", () => {
  const schema = { type: "string", pattern: "^(a+)+$" };
  const example = `${"a".repeat(60)}!`;
  expect(check({ schema, example })).toMatchObject({ ok: true, value: { example: JSON.stringify(example) } });
});
