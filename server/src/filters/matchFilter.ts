import { isLeaf, type Leaf, type Pattern, type Scalar, type Test } from "./pattern.ts";

/**
 * How many steps a filter may take on one document. A step is a value that is looked at, a field that is looked up, or a
 * comparison with one value; long texts take more. It takes up to 40 ns, a filter so at most 4 ms.
 */
export const mostSteps = 100_000;

/** Thrown where a document takes more steps than there are. */
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

/** The result of a filter for a document; undecided where matching takes too many steps. */
export type Verdict = "matches" | "differs" | "undecided";

/** Whether a document matches a filter, in at most so many steps. The verdict depends on nothing else. */
export function matchFilter(pattern: Pattern, document: unknown, most = mostSteps): Verdict {
  return decide(() => isMatch(pattern, document, new Steps(most)));
}

/** A part of a filter that a document does not match. */
export interface FailedPart {
  /** Where it stands in the filter, such as `payload.amount`. */
  path: string;
  expected: unknown;
  /** Values that the document has there; none where the field is absent. At most ten. */
  found: Scalar[];
}

const mostFound = 10;

/** The parts of a filter that a document does not match; none where it matches or is undecided. */
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

/** All fields of one object: of a list of objects, one has to match by itself. No object counts as one without fields. */
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

/** One value of the field has to pass one test; nothing passes where there is none, but for `exists: false`. */
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

/** Where a list has several objects of which none matches by itself, the list is what failed. */
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
 * Whether `visit` is true for the value, or for one that is in the list or in the lists in it, in order. With a stack of its own,
 * because a payload may nest as deep as it likes.
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
