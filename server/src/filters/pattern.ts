/*
 * Filters in the pattern grammar of Amazon EventBridge: an object names fields, a field has a list of what it may be, and
 * all fields have to match. Read once into a tree of tests; `matchFilter.ts` walks it.
 */

export type Scalar = string | number | boolean | null;

/** One thing that a field may be. */
export type Test =
  /** One of these values. */
  | { kind: "values"; values: ReadonlySet<Scalar> }
  | { kind: "exists"; exists: boolean }
  | { kind: "text"; isMatch: (text: string) => boolean }
  /** Anything there is but these. */
  | { kind: "anythingBut"; isExcepted: (value: Scalar) => boolean }
  | { kind: "numeric"; isMatch: (value: number) => boolean };

/** The list of a field: one of its tests has to pass. */
export interface Leaf {
  tests: readonly Test[];
  /** As it was written. */
  written: unknown;
}

/** An object of a filter: all of its fields have to match, and one alternative of each `$or`. */
export interface Pattern {
  fields: readonly { name: string; match: Leaf | Pattern }[];
  /** Null without an `$or`. */
  alternatives: readonly Pattern[] | null;
}

/** Why something is no filter, and where: such as `payload.amount.0.numeric`. */
export class FilterError extends Error {
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/** What a filter looks at: the item's JSON document, and what its headers say of it. */
const parts = ["payload", "metadata"];
/** Of `metadata`; what an item has not is absent. */
const metadataFields = ["event_type", "correlation_id", "ordering_key"] as const;

/** @throws {FilterError} for what is not in the grammar, and for what no item could match. */
export function readPattern(filter: Readonly<Record<string, unknown>>): Pattern {
  const pattern = readObject(filter, "");
  refuseForeignFields(pattern, parts, "");
  return pattern;
}

export function isLeaf(match: Leaf | Pattern): match is Leaf {
  return "tests" in match;
}

function refuseForeignFields(pattern: Pattern, known: readonly string[], path: string): void {
  for (const { name, match } of pattern.fields) {
    const here = join(path, name);
    if (!known.includes(name)) throw new FilterError(here, `is unknown: there are ${known.join(", ")}`);
    if (path === "" && isLeaf(match) && name === "metadata")
      throw new FilterError(here, "is an object of fields");
    if (path === "" && !isLeaf(match) && name === "metadata")
      refuseForeignFields(match, metadataFields, here);
  }
  for (const alternative of pattern.alternatives ?? []) refuseForeignFields(alternative, known, path);
}

function readObject(written: Readonly<Record<string, unknown>>, path: string): Pattern {
  const entries = Object.entries(written);
  if (entries.length === 0) throw new FilterError(path, "is an empty object: name a field");
  const { $or: alternatives } = Object.hasOwn(written, "$or") ? written : {};
  return {
    fields: entries
      .filter(([name]) => name !== "$or")
      .map(([name, value]) => ({ name, match: readField(value, join(path, name)) })),
    alternatives: alternatives === undefined ? null : readAlternatives(alternatives, join(path, "$or")),
  };
}

function readField(written: unknown, path: string): Leaf | Pattern {
  if (isObject(written)) return readObject(written, path);
  if (!Array.isArray(written)) {
    throw new FilterError(
      path,
      `is a list of what it may be, or an object of fields: write [${short(written)}]`,
    );
  }
  if (written.length === 0) throw new FilterError(path, "is an empty list, which nothing matches");
  const values: Scalar[] = [];
  const tests: Test[] = [];
  written.forEach((one: unknown, index) => {
    const here = join(path, String(index));
    if (isObject(one)) tests.push(readTest(one, here));
    else values.push(readScalar(one, here));
  });
  if (values.length > 0) tests.unshift({ kind: "values", values: new Set(values) });
  return { tests, written };
}

function readAlternatives(written: unknown, path: string): Pattern[] {
  if (!Array.isArray(written) || written.length < 2) {
    throw new FilterError(path, "is a list of two or more objects, of which one has to match");
  }
  return written.map((one: unknown, index) => {
    const here = join(path, String(index));
    if (!isObject(one)) throw new FilterError(here, "is an object of fields");
    return readObject(one, here);
  });
}

/** The operators, as they are named in a filter. */
const operators: Readonly<Record<string, (operand: unknown, path: string) => Test>> = {
  prefix: (operand, path) => ({ kind: "text", isMatch: startsWith(operand, path) }),
  suffix: (operand, path) => ({ kind: "text", isMatch: endsWith(operand, path) }),
  "equals-ignore-case": (operand, path) => ({
    kind: "text",
    isMatch: equalsIgnoringCase(readText(operand, path)),
  }),
  "anything-but": (operand, path) => ({ kind: "anythingBut", isExcepted: readExceptions(operand, path) }),
  numeric: (operand, path) => ({ kind: "numeric", isMatch: readComparisons(operand, path) }),
  exists(operand, path) {
    if (typeof operand !== "boolean") throw new FilterError(path, "is true or false");
    return { kind: "exists", exists: operand };
  },
};

function readTest(written: Readonly<Record<string, unknown>>, path: string): Test {
  const [name, ...others] = Object.keys(written);
  if (name === undefined || others.length > 0 || !Object.hasOwn(operators, name)) {
    throw new FilterError(path, `is a value, or an object of one of ${Object.keys(operators).join(", ")}`);
  }
  return operators[name]!(written[name], join(path, name));
}

function startsWith(operand: unknown, path: string): (text: string) => boolean {
  const { text, ignoresCase } = readAffix(operand, path);
  if (!ignoresCase) return (value) => value.startsWith(text);
  const isSame = equalsIgnoringCase(text);
  return (value) => isSame(value.slice(0, text.length));
}

function endsWith(operand: unknown, path: string): (text: string) => boolean {
  const { text, ignoresCase } = readAffix(operand, path);
  if (!ignoresCase) return (value) => value.endsWith(text);
  const isSame = equalsIgnoringCase(text);
  return (value) => value.length >= text.length && isSame(value.slice(value.length - text.length));
}

/** What a text begins or ends with: a text, or `{"equals-ignore-case": text}`. */
function readAffix(operand: unknown, path: string): { text: string; ignoresCase: boolean } {
  if (!isObject(operand)) return { text: readText(operand, path), ignoresCase: false };
  return { text: readText(onlyOperand(operand, "equals-ignore-case", path), path), ignoresCase: true };
}

/** Texts whose length differs by much are not turned into lower case, which is what a long one would cost. */
function equalsIgnoringCase(text: string): (value: string) => boolean {
  const lower = text.toLowerCase();
  return (value) => value.length <= 3 * text.length && value.toLowerCase() === lower;
}

function readExceptions(operand: unknown, path: string): (value: Scalar) => boolean {
  if (!isObject(operand)) {
    const excepted = new Set<Scalar>(readList(operand, path, readTextOrNumber));
    return (value) => excepted.has(value);
  }
  const name = Object.keys(operand)[0] ?? "";
  const test = Object.hasOwn(exceptedTexts, name) ? exceptedTexts[name] : undefined;
  if (test === undefined) {
    throw new FilterError(
      path,
      `is a text, a number, a list of them, or an object of one of ${Object.keys(exceptedTexts).join(", ")}`,
    );
  }
  const here = join(path, name);
  const tests = readList(onlyOperand(operand, name, path), here, readText).map(test);
  return (value) => typeof value === "string" && tests.some((isMatch) => isMatch(value));
}

const exceptedTexts: Readonly<Record<string, (text: string) => (value: string) => boolean>> = {
  prefix: (text) => (value) => value.startsWith(text),
  suffix: (text) => (value) => value.endsWith(text),
  "equals-ignore-case": equalsIgnoringCase,
};

const comparisons: Readonly<Record<string, (value: number, bound: number) => boolean>> = {
  "=": (value, bound) => value === bound,
  "<": (value, bound) => value < bound,
  "<=": (value, bound) => value <= bound,
  ">": (value, bound) => value > bound,
  ">=": (value, bound) => value >= bound,
};

/** `["<", 10]`, or a range such as `[">=", 0, "<", 10]`. */
function readComparisons(operand: unknown, path: string): (value: number) => boolean {
  const form = 'is a comparison such as ["<", 10], or a range such as [">=", 0, "<", 10]';
  if (!Array.isArray(operand) || (operand.length !== 2 && operand.length !== 4))
    throw new FilterError(path, form);
  const [operator, bound, upperOperator, upper] = operand as unknown[];
  const isFirst = readComparison(operator, bound, { path, form });
  if (operand.length === 2) return isFirst;
  const isSecond = readComparison(upperOperator, upper, { path, form });
  const isRange = /^>=?$/.test(operator as string) && /^<=?$/.test(upperOperator as string);
  if (!isRange || (bound as number) > (upper as number)) {
    throw new FilterError(path, `${form}: from the lower to the upper`);
  }
  return (value) => isFirst(value) && isSecond(value);
}

function readComparison(
  operator: unknown,
  bound: unknown,
  { path, form }: { path: string; form: string },
): (value: number) => boolean {
  if (typeof operator !== "string" || !Object.hasOwn(comparisons, operator) || typeof bound !== "number") {
    throw new FilterError(path, form);
  }
  const compare = comparisons[operator]!;
  return (value) => compare(value, bound);
}

/** One of something, or a list of some. */
function readList<T>(written: unknown, path: string, read: (one: unknown, path: string) => T): T[] {
  if (!Array.isArray(written)) return [read(written, path)];
  if (written.length === 0) throw new FilterError(path, "is an empty list");
  return written.map((one: unknown, index) => read(one, join(path, String(index))));
}

function readScalar(value: unknown, path: string): Scalar {
  if (value === null || ["string", "number", "boolean"].includes(typeof value)) return value as Scalar;
  throw new FilterError(path, "is a text, a number, true, false, null or an object of one operator");
}

function readTextOrNumber(value: unknown, path: string): string | number {
  if (typeof value === "string" || typeof value === "number") return value;
  throw new FilterError(path, "is a text or a number");
}

function readText(value: unknown, path: string): string {
  if (typeof value !== "string") throw new FilterError(path, "is a text");
  return value;
}

function onlyOperand(written: Readonly<Record<string, unknown>>, name: string, path: string): unknown {
  if (Object.keys(written).length === 1 && Object.hasOwn(written, name)) return written[name];
  throw new FilterError(path, `is a text, or an object of ${name} alone`);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? "…";
  return text.length <= 40 ? text : "…";
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
