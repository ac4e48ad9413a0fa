import { isLeaf, type Leaf, type Pattern, type Scalar, type Test } from "./pattern.ts";

/**
 * How many values are looked at, and tests made, before a filter gives up: some milliseconds. A payload of a megabyte has
 * a list of up to half a million values, and a filter of 4 KiB some hundred tests of each.
 */
const mostSteps = 200_000;

/** Thrown where a document takes more steps than there are. */
class TooManySteps extends Error {}

class Steps {
  #left = mostSteps;

  take(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw new TooManySteps();
  }
}

/** What a filter says of a document; undecided where that would take too long. */
export type Verdict = "matches" | "differs" | "undecided";

/** Whether a document matches a filter; in bounded time, and the same each time. */
export function matchFilter(pattern: Pattern, document: unknown): Verdict {
  return decide(() => isMatch(pattern, document, new Steps()));
}

/** A part of a filter that a document does not match. */
export interface FailedPart {
  /** Where it stands in the filter, such as `payload.amount`. */
  path: string;
  /** What the filter asks for, as it was written. */
  expected: unknown;
  /** Values that the document has there; none where the field is absent. At most ten. */
  found: Scalar[];
}

const mostFound = 10;

/** What of a filter a document does not match; nothing where it matches, or cannot be decided. */
export function failedParts(pattern: Pattern, document: unknown): FailedPart[] {
  const failed: FailedPart[] = [];
  decide(() => collectFailed(pattern, document, { path: "", steps: new Steps(), failed }));
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

/** All fields of one object: of a list of objects, one has to match by itself. */
function isMatch(pattern: Pattern, value: unknown, steps: Steps): boolean {
  return objectsIn(value, steps).some((fields) => isObjectMatch(pattern, fields, steps));
}

function isObjectMatch({ fields, alternatives }: Pattern, object: Fields, steps: Steps): boolean {
  for (const { name, match } of fields) {
    const value = fieldOf(object, name);
    if (!(isLeaf(match) ? isLeafMatch(match, value, steps) : isMatch(match, value, steps))) return false;
  }
  return (
    alternatives === null || alternatives.some((alternative) => isObjectMatch(alternative, object, steps))
  );
}

/** One value of the field has to pass one test; nothing passes where there is none, but for `exists: false`. */
function isLeafMatch({ tests }: Leaf, value: unknown, steps: Steps): boolean {
  const values = scalarsIn(value, steps);
  return tests.some((test) => {
    steps.take(1 + values.length);
    if (test.kind === "exists") return test.exists === values.length > 0;
    return values.some((one) => isPassed(test, one));
  });
}

function isPassed(test: Exclude<Test, { kind: "exists" }>, value: Scalar): boolean {
  switch (test.kind) {
    case "values":
      return test.values.has(value);
    case "text":
      return typeof value === "string" && test.isMatch(value);
    case "anythingBut":
      return !test.isExcepted(value);
    case "numeric":
      return typeof value === "number" && test.isMatch(value);
  }
}

interface Collecting {
  path: string;
  steps: Steps;
  failed: FailedPart[];
}

/** Where a list has several objects of which none matches by itself, the list is what failed. */
function collectFailed(pattern: Pattern, value: unknown, { path, steps, failed }: Collecting): boolean {
  if (isMatch(pattern, value, steps)) return true;
  const objects = objectsIn(value, steps);
  if (objects.length > 1) {
    failed.push({ path: `${path}.*`, expected: "one element that matches all fields", found: [] });
    return false;
  }
  const object = objects[0]!;
  for (const { name, match } of pattern.fields) {
    const here = path === "" ? name : `${path}.${name}`;
    const field = fieldOf(object, name);
    if (!isLeaf(match)) collectFailed(match, field, { path: here, steps, failed });
    else if (!isLeafMatch(match, field, steps)) {
      failed.push({
        path: here,
        expected: match.written,
        found: scalarsIn(field, steps).slice(0, mostFound),
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

/** The object, or the objects of a list, however deep; what has none is an object without fields. */
function objectsIn(value: unknown, steps: Steps): Fields[] {
  const objects = leavesOf(value, steps).filter(
    (one): one is Fields => typeof one === "object" && one !== null,
  );
  return objects.length === 0 ? [noFields] : objects;
}

/** The value, or the values of a list, however deep; an object is none. */
function scalarsIn(value: unknown, steps: Steps): Scalar[] {
  return leavesOf(value, steps).filter((one): one is Scalar => typeof one !== "object" || one === null);
}

/** What is in a list and in the lists in it, in order; with a stack of its own, because a payload may nest as deep as it likes. */
function leavesOf(value: unknown, steps: Steps): unknown[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return [value];
  const leaves: unknown[] = [];
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (!Array.isArray(next)) leaves.push(next);
    else {
      steps.take(next.length);
      for (let index = next.length - 1; index >= 0; index--) waiting.push(next[index]);
    }
  }
  return leaves;
}
