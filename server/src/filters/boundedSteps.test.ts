import { afterEach, describe, expect, it } from "vitest";
import { matchesFilters, openFilter } from "./filter.ts";
import { failedParts, matchFilter, mostSteps } from "./matchFilter.ts";
import { readPattern } from "./pattern.ts";

/*
 * Counts the operations of a filter independently of its own count of steps: reads of list elements, lookups, comparisons and
 * characters that are folded. The test tries filters of up to 4 KiB with payloads whose lists are longer than a filter may read.
 */

let counted = 0;
const restore: (() => void)[] = [];

afterEach(() => {
  for (const one of restore.splice(0)) one();
});

/** Replaces a built-in function by one that counts its calls, each with a weight. */
function count(holder: object, name: string, weigh: (self: unknown) => number = () => 1): void {
  const original = Reflect.get(holder, name) as (...values: unknown[]) => unknown;
  const replacement = function (this: unknown, ...values: unknown[]): unknown {
    counted += weigh(this);
    return original.apply(this, values);
  };
  Object.defineProperty(holder, name, { value: replacement, configurable: true, writable: true });
  restore.push(() =>
    Object.defineProperty(holder, name, { value: original, configurable: true, writable: true }),
  );
}

function countBuiltIns(): void {
  count(Set.prototype, "has");
  for (const name of ["startsWith", "endsWith", "slice"]) count(String.prototype, name);
  count(String.prototype, "toLowerCase", (text) => 1 + (text as string).length);
  count(Object, "hasOwn");
}

/** A list that counts the reads of its elements. */
function countedList(list: readonly unknown[]): unknown[] {
  return new Proxy([...list], {
    get(target, name, receiver) {
      if (typeof name === "string" && /^[0-9]/.test(name)) counted++;
      return Reflect.get(target, name, receiver);
    },
  });
}

const many = <T>(length: number, one: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => one(index));

const values: Readonly<Record<string, readonly unknown[]>> = {
  numbers: many(mostSteps + 1, (index) => index + 0.5),
  "short texts": many(mostSteps + 1, (index) => `v${index}`),
  "texts of the lengths asked for": many(60_000, (index) => `K${index}`.padEnd(12, "Q")),
  "letters that take long to fold": many(20_000, () => "\u0130".repeat(20)),
  "long texts": many(250, () => "\u00dc".repeat(4_000)),
  objects: many(50_000, (index) => ({ a: index, b: ["x"] })),
  "lists of lists": many(50_000, (index) => [[index]]),
};

const fields: Readonly<Record<string, unknown>> = {
  values: many(300, (index) => `q${index}`.padEnd(12, "q")),
  "exceptions in any case": [
    { "anything-but": { "equals-ignore-case": many(250, (index) => `k${index}`.padEnd(12, "q")) } },
  ],
  "the report's exceptions": [
    {
      "anything-but": { "equals-ignore-case": many(700, (index) => String.fromCodePoint(97 + (index % 26))) },
    },
  ],
  "exceptions by prefix": [{ "anything-but": { prefix: many(600, (index) => `z${index}`.slice(0, 3)) } }],
  "texts in any case": many(90, (index) => ({ "equals-ignore-case": `k${index}`.padEnd(12, "q") })),
  "prefixes in any case": many(60, (index) => ({ prefix: { "equals-ignore-case": `zz${index}` } })),
  "long suffixes": many(2, () => ({ suffix: { "equals-ignore-case": "q".repeat(1_900) } })),
  "a long text": [{ "equals-ignore-case": "\u00fc".repeat(1_900) }],
  dotted: [{ "equals-ignore-case": "i\u0307".repeat(20) }],
  ranges: many(120, () => ({ numeric: [">=", 1e9, "<", 2e9] })),
  "no value": [{ exists: false }],
};

const shapes: Readonly<Record<string, (field: unknown) => Record<string, unknown>>> = {
  "one field": (field) => ({ a: field }),
  "two alternatives": (field) => ({ $or: [{ a: field }, { a: field, b: ["none"] }] }),
  "fields of each element": (field) => ({ a: { a: field } }),
};

describe("the worst filter of 4 KiB takes a bounded number of steps", () => {
  it.each(Object.keys(shapes))("%s", (shape) => {
    const worst: Record<string, number> = {};
    for (const [field, written] of Object.entries(fields)) {
      const filter = { payload: shapes[shape]!(written) };
      if (Buffer.byteLength(JSON.stringify(filter)) > 4_096) continue;
      const pattern = readPattern(filter);
      for (const [value, list] of Object.entries(values)) {
        const document = { payload: { a: countedList(list) }, metadata: {} };
        countBuiltIns();
        for (const evaluate of [matchFilter, failedParts]) {
          counted = 0;
          evaluate(pattern, document);
          if (counted > 2 * mostSteps) worst[`${evaluate.name} of ${field}, ${value}`] = counted;
        }
        for (const one of restore.splice(0)) one();
      }
    }
    expect(worst).toEqual({});
  });
});

it("all filters of a publication together take a bounded number of steps", async () => {
  const filters = many(1_000, (index) =>
    openFilter(JSON.stringify({ payload: { a: [{ "anything-but": { prefix: ["v", `x${index}`] } }] } })),
  );
  const payload = Buffer.from(JSON.stringify({ a: values["short texts"] }));
  countBuiltIns();
  counted = 0;
  const verdicts = await matchesFilters(
    { payload, eventType: null, correlationId: null, orderingKey: null },
    filters,
  );
  expect(counted).toBeLessThan(11 * mostSteps);
  expect(new Set(verdicts.values()), "nothing is withheld by a guess").toEqual(new Set([true]));
});

it("equals-ignore-case matches also when case folding changes the length of the text", () => {
  const isMatched = (text: string, value: string): string =>
    matchFilter(readPattern({ payload: { a: [{ "equals-ignore-case": text }] } }), { payload: { a: value } });
  expect(isMatched("\u0130stanbul", "i\u0307STANBUL")).toBe("matches");
  expect(isMatched("i\u0307i\u0307", "\u0130i\u0307")).toBe("matches");
  expect(isMatched("\u212a", "k")).toBe("matches");
  expect(isMatched("k", "\u212a")).toBe("matches");
  expect(isMatched("istanbul", "\u0130stanbul")).toBe("differs");
});
