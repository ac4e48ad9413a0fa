import { isLeaf, type Leaf, type Pattern, type Scalar, type Test } from "./pattern.ts";

/**
 * The most steps of a filter on one document. A step is a read of a value, a lookup of a field, or a comparison with one value;
 * long texts take more steps. A step takes up to 40 ns, so that a filter takes at most 4 ms.
 */
export const mostSteps = 100_000;

/** Thrown when a match takes more steps than are left. */
class TooManySteps extends Error {}

class Steps {
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  take(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw new TooManySteps();
  }
}

/** The result of a filter for a document; undecided when matching takes too many steps. */
export type Verdict = "matches" | "differs" | "undecided";

/** Whether a document matches a filter, in at most `most` steps. Deterministic: the bound is not a time. */
export function matchFilter(pattern: Pattern, document: unknown, most = mostSteps): Verdict {
  return decide(() => isMatch(pattern, document, new Steps(most)));
}

/** A part of a filter that a document does not match. */
export interface FailedPart {
  /** Its path in the filter, such as `payload.amount`. */
  path: string;
  expected: unknown;
  /** The document's values at this path, at most ten; empty if the field is absent. */
  found: Scalar[];
}

const mostFound = 10;

/** The parts of a filter that a document does not match; empty if it matches or is undecided. */
export function failedParts(pattern: Pattern, document: unknown): FailedPart[] {
  const failed: FailedPart[] = [];
  decide(() => collectFailed(pattern, document, { path: "", steps: new Steps(mostSteps), failed }));
  return failed;
}

function decide(isMatched: () => boolean): Verdict {
  try {
    return isMatched() ? "matches" : "differs";
  } catch (error) {
    if (error instanceof TooManySteps) return "undecided";
    throw error;
  }
}

type Fields = Readonly<Record<string, unknown>>;
const noFields: Fields = {};

/** Whether one object, the value itself or one of a list, matches all fields. No object counts as an object without fields. */
function isMatch(pattern: Pattern, value: unknown, steps: Steps): boolean {
  let hasObject = false;
  const isMatched = someLeaf(value, steps, (one) => {
    if (!isFields(one)) return false;
    hasObject = true;
    return isObjectMatch(pattern, one, steps);
  });
  return isMatched || (!hasObject && isObjectMatch(pattern, noFields, steps));
}

function isObjectMatch({ fields, alternatives }: Pattern, object: Fields, steps: Steps): boolean {
  steps.take(1);
  for (const { name, match } of fields) {
    steps.take(2);
    const value = fieldOf(object, name);
    if (!(isLeaf(match) ? isLeafMatch(match, value, steps) : isMatch(match, value, steps))) return false;
  }
  return (
    alternatives === null || alternatives.some((alternative) => isObjectMatch(alternative, object, steps))
  );
}

/** Whether one value of the field passes one test. A field without a value passes only `exists: false`. */
function isLeafMatch({ tests, takesAnyValue, takesNoValue }: Leaf, value: unknown, steps: Steps): boolean {
  let hasValue = false;
  const isMatched = someLeaf(value, steps, (one) => {
    if (isFields(one)) return false;
    hasValue = true;
    return takesAnyValue || tests.some((test) => isPassed(test, one as Scalar, steps));
  });
  return isMatched || (takesNoValue && !hasValue);
}

function isPassed(test: Test, value: Scalar, steps: Steps): boolean {
  steps.take(test.stepsOf(value));
  return test.isMatch(value);
}

interface Collecting {
  path: string;
  steps: Steps;
  failed: FailedPart[];
}

/** Collects the parts that failed. If a list has several objects and none matches, the list itself is the failed part. */
function collectFailed(pattern: Pattern, value: unknown, { path, steps, failed }: Collecting): boolean {
  if (isMatch(pattern, value, steps)) return true;
  const objects = firstLeaves(value, steps, isFields, 2) as Fields[];
  if (objects.length > 1) {
    failed.push({ path: `${path}.*`, expected: "one element that matches all fields", found: [] });
    return false;
  }
  const object = objects[0] ?? noFields;
  for (const { name, match } of pattern.fields) {
    const here = path === "" ? name : `${path}.${name}`;
    const field = fieldOf(object, name);
    if (!isLeaf(match)) collectFailed(match, field, { path: here, steps, failed });
    else if (!isLeafMatch(match, field, steps)) {
      failed.push({
        path: here,
        expected: match.written,
        found: firstLeaves(field, steps, isScalar, mostFound) as Scalar[],
      });
    }
  }
  const { alternatives } = pattern;
  if (alternatives !== null && !alternatives.some((one) => isObjectMatch(one, object, steps))) {
    failed.push({
      path: path === "" ? "$or" : `${path}.$or`,
      expected: "one alternative that matches",
      found: [],
    });
  }
  return false;
}

function fieldOf(object: Fields, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

function isScalar(value: unknown): value is Scalar {
  return !isFields(value);
}

function firstLeaves(value: unknown, steps: Steps, isWanted: (one: unknown) => boolean, most: number) {
  const found: unknown[] = [];
  someLeaf(value, steps, (one) => isWanted(one) && found.push(one) === most);
  return found;
}

/**
 * Whether `visit` returns true for the value or, if it is a list, for an element of it or of the lists nested in it, in order.
 * Iterates with an explicit stack, because payloads may be nested to any depth.
 */
function someLeaf(value: unknown, steps: Steps, visit: (leaf: unknown) => boolean): boolean {
  if (value === undefined) return false;
  if (!Array.isArray(value)) return visit(value);
  const lists: { list: readonly unknown[]; at: number }[] = [{ list: value, at: 0 }];
  for (let last = lists[0]; last !== undefined; last = lists.at(-1)) {
    if (last.at === last.list.length) {
      lists.pop();
      continue;
    }
    steps.take(1);
    const next = last.list[last.at++];
    if (Array.isArray(next)) lists.push({ list: next, at: 0 });
    else if (visit(next)) return true;
  }
  return false;
}
