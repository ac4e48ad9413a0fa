import fc from "fast-check";
import { expect, it } from "vitest";
import { type ReadWebhooks, readWebhooks } from "./readWebhooks.ts";

const body = (schema: object) => ({ post: { requestBody: { content: { "application/json": { schema } } } } });
const to = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const read = async (webhooks: object, schemas: object = {}): Promise<ReadWebhooks> => {
  const found = await readWebhooks({ openapi: "3.1.0", webhooks, components: { schemas } });
  if (!found.ok) throw new Error(found.message);
  return found.value;
};

it("a schema that would grow exponentially if its references were replaced by copies stays small", async () => {
  const doubling = Array.from({ length: 30 }, (_, n) => [
    `D${n}`,
    { properties: { a: to(`D${n + 1}`), b: to(`D${n + 1}`) } },
  ]);
  const { types } = await read({ doubled: body(to("D0")) }, { ...Object.fromEntries(doubling), D30: {} });
  expect(Object.keys(JSON.parse(types[0]!.schema!).$defs)).toHaveLength(30);
});

it("webhooks that refer to one large schema are read up to a bound on all of them together", async () => {
  const webhooks = Array.from({ length: 900 }, (_, n) => [`big.${n}`, body(to("Big"))]);
  const { types, refused } = await read(Object.fromEntries(webhooks), { Big: { title: "x".repeat(65_000) } });
  expect(types.length).toBeLessThan(70);
  expect(refused.at(-1)!.reason).toMatch(/^the document is too large after its references are resolved/);
});

it("an event type whose schema and references are too large is refused, and the other types are read", async () => {
  const parts = Array.from({ length: 5 }, (_, n) => [`P${n}`, { title: "x".repeat(15_000) }]);
  const allOf = parts.map(([name]) => to(name as string));
  const { types, refused } = await read(
    { large: body({ allOf }), small: body(to("P0")) },
    Object.fromEntries(parts),
  );
  expect(types.map(({ name }) => name)).toEqual(["small"]);
  expect(refused).toEqual([
    { name: "large", reason: "schema has more than 65536 bytes as JSON after its references are resolved" },
  ]);
});

it("a webhook whose example has a number that may have been rounded is refused, and limits in schemas are not", async () => {
  const parse = (text: string): object => body(JSON.parse(text) as object);
  const { types, refused } = await read({
    exact: parse('{"maximum":9223372036854775807,"example":9007199254740991}'),
    rounded: parse('{"example":{"ids":[1,10000000000000001]}}'),
  });
  expect(types.map(({ name }) => name)).toEqual(["exact"]);
  expect(refused).toEqual([
    {
      name: "rounded",
      reason:
        "example.ids.1 is a whole number beyond 9007199254740991, which would be rounded: give it as a string",
    },
  ]);
});

it("different definitions of the same name get different names, and the schema's own definitions keep theirs", async () => {
  const schema = { $defs: { X: { title: "own" } }, allOf: [to("a/X"), to("b/X"), to("a/X")] };
  const { types } = await read({ w: body(schema) }, { a: { X: { title: "a" } }, b: { X: { title: "b" } } });
  expect(JSON.parse(types[0]!.schema!)).toEqual({
    $defs: { X: { title: "own" }, X_2: { title: "a" }, X_3: { title: "b" } },
    allOf: [{ $ref: "#/$defs/X_2" }, { $ref: "#/$defs/X_3" }, { $ref: "#/$defs/X_2" }],
  });
});

it("the mapping of a discriminator refers to the bundled definitions", async () => {
  const mapping = { dog: "#/components/schemas/Dog", cat: "Cat" };
  const schema = { oneOf: [to("Dog")], discriminator: { propertyName: "kind", mapping } };
  const { types } = await read({ w: body(schema) }, { Dog: {} });
  expect(JSON.parse(types[0]!.schema!)).toMatchObject({
    oneOf: [{ $ref: "#/$defs/Dog" }],
    discriminator: { mapping: { dog: "#/$defs/Dog", cat: "Cat" } },
  });
});

/** Keywords of OpenAPI, for generated JSON with references to any place. */
const words = [
  "post",
  "requestBody",
  "content",
  "application/json",
  "schema",
  "examples",
  "$ref",
  "allOf",
  "$defs",
  "$id",
];
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 7, withCrossShrink: true },
    fc.constantFrom<unknown>(null, true, 1, "#/webhooks/a", "#", "#/%", "other", "__proto__"),
    fc.array(tie("value"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom(...words), tie("value"), { maxKeys: 4 }),
  ),
})).value;

it("every document gives event types and refusals, or a message, and never throws", async () => {
  const tried = fc.assert(
    fc.asyncProperty(fc.dictionary(fc.constantFrom("a", "b", "c d"), json), async (webhooks) => {
      const found = await readWebhooks({ openapi: "3.1.0", webhooks });
      return found.ok || found.message !== "";
    }),
    { numRuns: 200 },
  );
  await expect(tried).resolves.toBeUndefined();
});
