import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failedParts, matchFilter } from "./matchFilter.ts";
import { readPattern } from "./pattern.ts";

type Fields = Record<string, unknown>;

function verdict(filter: Fields, document: unknown): string {
  return matchFilter(readPattern({ payload: filter }), { payload: document, metadata: {} });
}

describe("each operator", () => {
  it.for<[name: string, filter: Fields, matching: unknown[], differing: unknown[]]>([
    [
      "values",
      { a: ["x", 1, null, true] },
      [{ a: "x" }, { a: 1 }, { a: null }, { a: true }],
      [{ a: "1" }, { a: false }, {}],
    ],
    ["prefix", { a: [{ prefix: "in" }] }, [{ a: "invoice" }, { a: "in" }], [{ a: "i" }, { a: 1 }, {}]],
    [
      "prefix, any case",
      { a: [{ prefix: { "equals-ignore-case": "IN" } }] },
      [{ a: "invoice" }],
      [{ a: "xin" }],
    ],
    ["suffix", { a: [{ suffix: ".png" }] }, [{ a: "x.png" }], [{ a: "png" }]],
    [
      "suffix, any case",
      { a: [{ suffix: { "equals-ignore-case": ".PNG" } }] },
      [{ a: "x.pNg" }],
      [{ a: "png" }],
    ],
    ["equals-ignore-case", { a: [{ "equals-ignore-case": "aBc" }] }, [{ a: "AbC" }], [{ a: "abcd" }]],
    [
      "anything-but",
      { a: [{ "anything-but": ["x", 1] }] },
      [{ a: "y" }, { a: null }],
      [{ a: "x" }, { a: 1 }, {}],
    ],
    ["anything-but one", { a: [{ "anything-but": "x" }] }, [{ a: 1 }], [{ a: "x" }]],
    [
      "anything-but prefix",
      { a: [{ "anything-but": { prefix: ["in", "re"] } }] },
      [{ a: "x" }, { a: 1 }],
      [{ a: "refund" }],
    ],
    ["anything-but suffix", { a: [{ "anything-but": { suffix: "x" } }] }, [{ a: "xy" }], [{ a: "yx" }]],
    [
      "anything-but case",
      { a: [{ "anything-but": { "equals-ignore-case": "x" } }] },
      [{ a: "y" }],
      [{ a: "X" }],
    ],
    ["numeric", { a: [{ numeric: ["<", 10] }] }, [{ a: 9.5 }, { a: -1 }], [{ a: 10 }, { a: "9" }, {}]],
    ["numeric range", { a: [{ numeric: [">", 0, "<=", 5] }] }, [{ a: 5 }, { a: 0.1 }], [{ a: 0 }, { a: 6 }]],
    ["numeric equality", { a: [{ numeric: ["=", 3] }] }, [{ a: 3.0 }], [{ a: 3.1 }]],
    ["exists", { a: [{ exists: true }] }, [{ a: null }, { a: [0] }], [{}, { a: [] }, { a: { b: 1 } }]],
    ["exists not", { a: [{ exists: false }] }, [{}, { a: [] }, 1, null], [{ a: null }]],
    [
      "several in a list",
      { a: [{ prefix: "x" }, { numeric: [">", 1] }, "y"] },
      [{ a: "xy" }, { a: 2 }, { a: "y" }],
      [{ a: 1 }],
    ],
    ["all fields", { a: [1], b: [2] }, [{ a: 1, b: 2 }], [{ a: 1 }, { a: 1, b: 3 }]],
    ["$or", { c: [1], $or: [{ a: [1] }, { b: [1] }] }, [{ c: 1, b: 1 }], [{ a: 1 }, { c: 1 }]],
    ["lists", { a: ["x"] }, [{ a: ["y", ["x"]] }], [{ a: [["y"]] }, { a: [{ x: "x" }] }]],
    [
      "one element of a list",
      { a: { b: [1], c: [2] } },
      [{ a: [{ b: 1, c: 2 }, {}] }],
      [{ a: [{ b: 1 }, { c: 2 }] }],
    ],
    ["what is inherited", { toString: [{ exists: true }] }, [{ toString: 1 }], [{}]],
  ])("%s", ([, filter, matching, differing]) => {
    for (const document of matching)
      expect.soft(verdict(filter, document), JSON.stringify(document)).toBe("matches");
    for (const document of differing)
      expect.soft(verdict(filter, document), JSON.stringify(document)).toBe("differs");
  });
});

describe("a filter outside the grammar is refused with the path of the fault", () => {
  it.for<[filter: Fields, path: string]>([
    [{}, ""],
    [{ body: ["x"] }, "body"],
    [{ metadata: ["x"] }, "metadata"],
    [{ metadata: { id: ["x"] } }, "metadata.id"],
    [{ $or: [{ payload: ["x"] }, { metadata: { id: ["x"] } }] }, "metadata.id"],
    [{ payload: "x" }, "payload"],
    [{ payload: { a: {} } }, "payload.a"],
    [{ payload: { a: [] } }, "payload.a"],
    [{ payload: { a: [[1]] } }, "payload.a.0"],
    [{ payload: { a: [1, { prefix: 1 }] } }, "payload.a.1.prefix"],
    [{ payload: { a: [{ prefix: "x", suffix: "y" }] } }, "payload.a.0"],
    [{ payload: { a: [{ wildcard: "x*" }] } }, "payload.a.0"],
    [{ payload: { a: [{ constructor: "x" }] } }, "payload.a.0"],
    [{ payload: { a: [{ exists: "yes" }] } }, "payload.a.0.exists"],
    [{ payload: { a: [{ numeric: ["<"] }] } }, "payload.a.0.numeric"],
    [{ payload: { a: [{ numeric: ["<", "1"] }] } }, "payload.a.0.numeric"],
    [{ payload: { a: [{ numeric: ["toString", 1] }] } }, "payload.a.0.numeric"],
    [{ payload: { a: [{ numeric: [">", 5, "<", 1] }] } }, "payload.a.0.numeric"],
    [{ payload: { a: [{ numeric: ["<", 5, ">", 1] }] } }, "payload.a.0.numeric"],
    [{ payload: { a: [{ "anything-but": [] }] } }, "payload.a.0.anything-but"],
    [{ payload: { a: [{ "anything-but": [true] }] } }, "payload.a.0.anything-but.0"],
    [{ payload: { a: [{ "anything-but": { toString: "x" } }] } }, "payload.a.0.anything-but"],
    [{ payload: { $or: [{ a: [1] }] } }, "payload.$or"],
    [{ payload: { $or: [{ a: [1] }, 1] } }, "payload.$or.1"],
  ])("%j", ([filter, path]) => {
    expect(() => readPattern(filter)).toThrow(expect.objectContaining({ path }));
  });
});

it("failedParts names the parts that did not match, and the values that the document has there", () => {
  const filter = readPattern({
    payload: {
      amount: [{ numeric: [">=", 100] }],
      currency: ["EUR"],
      lines: { sku: ["a"], count: [2] },
      gone: [1],
    },
    metadata: { event_type: [{ prefix: "invoice." }] },
    $or: [{ payload: { x: [1] } }, { payload: { y: [1] } }],
  });
  const document = {
    payload: { amount: 80, currency: "EUR", lines: [{ sku: "a" }, { count: 2 }] },
    metadata: { event_type: "refund.made" },
  };
  expect(failedParts(filter, document)).toEqual([
    { path: "payload.amount", expected: [{ numeric: [">=", 100] }], found: [80] },
    { path: "payload.lines.*", expected: "one element that matches all fields", found: [] },
    { path: "payload.gone", expected: [1], found: [] },
    { path: "metadata.event_type", expected: [{ prefix: "invoice." }], found: ["refund.made"] },
    { path: "$or", expected: "one alternative that matches", found: [] },
  ]);
});

describe("a large payload", () => {
  const tests = Array.from({ length: 250 }, (_, index) => ({ prefix: `no${index}` }));

  it("is undecided when matching would take too many steps", () => {
    expect(verdict({ a: tests }, { a: Array.from({ length: 200_000 }, () => "x") })).toBe("undecided");
  });

  it("may be nested to any depth", () => {
    const depth = 90_000;
    const nested = JSON.parse(`${"[".repeat(depth)}"x"${"]".repeat(depth)}`) as unknown;
    expect(verdict({ a: ["x"] }, { a: nested })).toBe("matches");
    expect(verdict({ a: { b: ["x"] } }, { a: nested })).toBe("differs");
  });
});

/* A second, simple implementation of the grammar, without a tree and without a bound, as the reference for the test below. */

function plainObject(filter: Fields, value: unknown): boolean {
  const objects = [value]
    .flat(Number.POSITIVE_INFINITY)
    .filter((one) => typeof one === "object" && one !== null);
  return (objects.length === 0 ? [{}] : (objects as Fields[])).some((object) =>
    Object.entries(filter).every(([name, wanted]) => {
      if (name === "$or") return (wanted as Fields[]).some((one) => plainObject(one, object));
      const field = Object.hasOwn(object, name) ? object[name] : undefined;
      return Array.isArray(wanted) ? plainList(wanted, field) : plainObject(wanted as Fields, field);
    }),
  );
}

function plainList(wanted: unknown[], field: unknown): boolean {
  const values =
    field === undefined
      ? []
      : [field].flat(Number.POSITIVE_INFINITY).filter((one) => typeof one !== "object" || one === null);
  return wanted.some((test) => {
    if (typeof test !== "object" || test === null) return (values as unknown[]).includes(test);
    const [[operator, operand]] = Object.entries(test) as [[string, unknown]];
    if (operator === "exists") return operand === values.length > 0;
    return values.some((value) => plainTest(operator, operand, value));
  });
}

function plainTest(operator: string, operand: unknown, value: unknown): boolean {
  switch (operator) {
    case "prefix":
      return typeof value === "string" && value.slice(0, String(operand).length) === operand;
    case "suffix":
      return (
        typeof value === "string" &&
        value.length >= String(operand).length &&
        value.slice(value.length - String(operand).length) === operand
      );
    case "equals-ignore-case":
      return typeof value === "string" && value.toLowerCase() === String(operand).toLowerCase();
    case "anything-but": {
      if (Array.isArray(operand)) return !operand.includes(value);
      if (typeof operand !== "object") return value !== operand;
      const [[name, texts]] = Object.entries(operand as Fields) as [[string, unknown]];
      return ![texts].flat().some((text) => plainTest(name, text, value));
    }
    default: {
      const pairs = operand as unknown[];
      const isMet = (at: number): boolean =>
        typeof value === "number" && plainComparison(pairs[at] as string, value, pairs[at + 1] as number);
      return isMet(0) && (pairs.length === 2 || isMet(2));
    }
  }
}

function plainComparison(operator: string, value: number, bound: number): boolean {
  if (operator === "=") return value === bound;
  return operator.startsWith("<")
    ? value < bound || (operator === "<=" && value === bound)
    : value > bound || (operator === ">=" && value === bound);
}

const text = fc.constantFrom("", "a", "A", "ab", "AB", "ba", "abc");
const number = fc.constantFrom(-1, 0, 1, 1.5, 2);
const scalar = fc.oneof(text, number, fc.boolean(), fc.constant(null));
const texts = fc.oneof(text, fc.array(text, { minLength: 1, maxLength: 2 }));
const test = fc.oneof(
  scalar,
  fc.record({ prefix: text }),
  fc.record({ suffix: text }),
  fc.record({ "equals-ignore-case": text }),
  fc.record({ exists: fc.boolean() }),
  fc.record({
    "anything-but": fc.oneof(
      text,
      number,
      fc.array(fc.oneof(text, number), { minLength: 1, maxLength: 2 }),
      fc.record({ prefix: texts }),
      fc.record({ suffix: texts }),
      fc.record({ "equals-ignore-case": texts }),
    ),
  }),
  fc.record({ numeric: fc.tuple(fc.constantFrom("=", "<", "<=", ">", ">="), number) }),
  fc.record({
    numeric: fc.tuple(
      fc.constantFrom(">", ">="),
      fc.constant(0),
      fc.constantFrom("<", "<="),
      fc.constant(1.5),
    ),
  }),
);
const names = ["a", "b", "toString"];
const { filter } = fc.letrec<{ filter: Fields; field: unknown }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3, depthIdentifier: "filter" },
    fc.dictionary(fc.constantFrom(...names), fc.array(test, { minLength: 1, maxLength: 3 }), { minKeys: 1 }),
    fc.dictionary(fc.constantFrom(...names), tie("field"), { minKeys: 1 }),
    fc
      .tuple(tie("filter"), fc.array(tie("filter"), { minLength: 2, maxLength: 3 }))
      .map(([all, $or]) => Object.assign({ $or }, all)),
  ),
  field: fc.oneof(
    { depthIdentifier: "filter" },
    fc.array(test, { minLength: 1, maxLength: 3 }),
    tie("filter"),
  ),
}));
const { document } = fc.letrec<{ document: unknown }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 4, depthIdentifier: "document" },
    scalar,
    fc.array(tie("document"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names), tie("document")),
    fc.dictionary(fc.constantFrom(...names), tie("document"), { minKeys: 2 }),
  ),
}));

it("agrees with a simple implementation of the grammar", () => {
  fc.assert(
    fc.property(filter, document, (one, sample) => {
      const payload = { payload: sample, metadata: {} };
      expect(matchFilter(readPattern({ payload: one }), payload)).toBe(
        plainObject({ payload: one }, payload) ? "matches" : "differs",
      );
      expect(failedParts(readPattern({ payload: one }), payload).length > 0).toBe(
        !plainObject({ payload: one }, payload),
      );
    }),
    { numRuns: 2_000 },
  );
});
