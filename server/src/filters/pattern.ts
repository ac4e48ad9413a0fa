import { isJsonObject } from "../http/contract/json.ts";

/*
 * Filters in the pattern grammar of Amazon EventBridge: an object names fields, each field has a list of allowed values or
 * tests, and all fields have to match. A filter is read once into a tree of tests, which `matchFilter.ts` walks.
 */

export type Scalar = string | number | boolean | null;

/** One test of a field's value. Several texts, or several values, are one test: a lookup in a set. */
export interface Test {
  isMatch: (value: Scalar) => boolean;
  /** Number of steps of testing this value: at least one for each comparison. */
  stepsOf: (value: Scalar) => number;
}

/** The list of a field: one of its tests has to pass for one of the field's values. */
export interface Leaf {
  tests: readonly Test[];
  /** Whether the field matches if it has any value (`exists: true`), and if it has none (`exists: false`). */
  takesAnyValue: boolean;
  takesNoValue: boolean;
  written: unknown;
}

/** An object of a filter: all of its fields have to match, and one alternative of each `$or`. */
export interface Pattern {
  fields: readonly { name: string; match: Leaf | Pattern }[];
  /** Null without an `$or`. */
  alternatives: readonly Pattern[] | null;
}

/** Why a filter is refused, and the path of the fault, such as `payload.amount.0.numeric`. */
export class FilterError extends Error {
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/** The parts of an item that a filter is matched against: its JSON document and its metadata. */
const parts = ["payload", "metadata"];
/** Fields of `metadata`; missing ones are absent. */
const metadataFields = ["event_type", "correlation_id", "ordering_key"] as const;

/** Reads a filter. @throws {FilterError} for a filter outside the grammar, and for one that no item could match. */
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
    if (!known.includes(name)) throw new FilterError(here, `is unknown: use one of ${known.join(", ")}`);
    if (path === "" && isLeaf(match) && name === "metadata")
      throw new FilterError(here, "must be an object of fields");
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
  if (isJsonObject(written)) return readObject(written, path);
  if (!Array.isArray(written)) {
    throw new FilterError(
      path,
      `must be a list of values and tests, or an object of fields: write [${short(written)}]`,
    );
  }
  if (written.length === 0) throw new FilterError(path, "is an empty list, which nothing matches");
  const entries: Entries = { values: new Set(), folded: [], tests: [], exists: new Set() };
  written.forEach((one: unknown, index) => {
    const here = join(path, String(index));
    if (isJsonObject(one)) readOperator(one, here, entries);
    else entries.values.add(readScalar(one, here));
  });
  const { values, folded, tests, exists } = entries;
  if (folded.length > 0) tests.unshift(equalsAnyIgnoringCase(folded));
  if (values.size > 0) tests.unshift(equalsAny(values));
  return { tests, takesAnyValue: exists.has(true), takesNoValue: exists.has(false), written };
}

/** The entries of a field's list. Plain values are a set, so that a test for equality is one lookup. */
interface Entries {
  values: Set<Scalar>;
  /** Texts of `equals-ignore-case`, as written. */
  folded: string[];
  tests: Test[];
  exists: Set<boolean>;
}

function readAlternatives(written: unknown, path: string): Pattern[] {
  if (!Array.isArray(written) || written.length < 2) {
    throw new FilterError(path, "must be a list of two or more objects, one of which has to match");
  }
  return written.map((one: unknown, index) => {
    const here = join(path, String(index));
    if (!isJsonObject(one)) throw new FilterError(here, "must be an object of fields");
    return readObject(one, here);
  });
}

/** The operators, as they are named in a filter. */
const operators: Readonly<Record<string, (operand: unknown, path: string, entries: Entries) => void>> = {
  prefix: (operand, path, { tests }) => tests.push(affixTest(prefix, readAffix(operand, path))),
  suffix: (operand, path, { tests }) => tests.push(affixTest(suffix, readAffix(operand, path))),
  "equals-ignore-case": (operand, path, { folded }) => folded.push(readText(operand, path)),
  "anything-but": (operand, path, { tests }) => tests.push(anythingBut(readExceptions(operand, path))),
  numeric: (operand, path, { tests }) => {
    const isInRange = readComparisons(operand, path);
    tests.push({ isMatch: (value) => typeof value === "number" && isInRange(value), stepsOf: () => 1 });
  },
  exists(operand, path, { exists }) {
    if (typeof operand !== "boolean") throw new FilterError(path, "must be true or false");
    exists.add(operand);
  },
};

function readOperator(written: Readonly<Record<string, unknown>>, path: string, entries: Entries): void {
  const [name, ...others] = Object.keys(written);
  if (name === undefined || others.length > 0 || !Object.hasOwn(operators, name)) {
    throw new FilterError(
      path,
      `must be a value, or an object with one of ${Object.keys(operators).join(", ")}`,
    );
  }
  operators[name]!(written[name], join(path, name), entries);
}

interface Affix {
  is: (value: string, text: string) => boolean;
  /** The part of a value that is compared with the affix. */
  of: (value: string, length: number) => string;
}

const prefix: Affix = {
  is: (value, text) => value.startsWith(text),
  of: (value, length) => value.slice(0, length),
};
const suffix: Affix = {
  is: (value, text) => value.endsWith(text),
  of: (value, length) => value.slice(Math.max(0, value.length - length)),
};

function affixTest(affix: Affix, { text, ignoresCase }: { text: string; ignoresCase: boolean }): Test {
  const folded = text.toLowerCase();
  const isAffix = ignoresCase
    ? (value: string) => affix.of(value, text.length).toLowerCase() === folded
    : (value: string) => affix.is(value, text);
  const steps = ignoresCase ? stepsOfFolding(text.length) : 1 + (text.length >> 4);
  return { isMatch: (value) => typeof value === "string" && isAffix(value), stepsOf: () => steps };
}

/** A text that is looked up for the first time is hashed, which takes as long as several comparisons. */
function stepsOfHashing(length: number): number {
  return 8 + (length >> 4);
}

/** Characters outside Latin-1 are case-folded one by one; each takes as long as a comparison. */
function stepsOfFolding(length: number): number {
  return length + stepsOfHashing(length);
}

/** Reads a prefix or suffix: a text, or `{"equals-ignore-case": text}`. */
function readAffix(operand: unknown, path: string): { text: string; ignoresCase: boolean } {
  if (!isJsonObject(operand)) return { text: readText(operand, path), ignoresCase: false };
  return { text: readText(onlyOperand(operand, "equals-ignore-case", path), path), ignoresCase: true };
}

/** Test whether a value is one of these. Only a text of the same length as one of them is hashed and looked up. */
function equalsAny(values: ReadonlySet<Scalar>): Test {
  const lengths = new Set([...values].filter((one) => typeof one === "string").map((one) => one.length));
  const isHashed = (value: Scalar): boolean => typeof value === "string" && lengths.has(value.length);
  return {
    isMatch: (value) => (typeof value !== "string" || isHashed(value)) && values.has(value),
    stepsOf: (value) => (isHashed(value) ? stepsOfHashing((value as string).length) : 1),
  };
}

/** Like {@link equalsAny}, ignoring case. Only a text whose lower case can have the length of one of them is folded. */
function equalsAnyIgnoringCase(texts: readonly string[]): Test {
  const folded = new Set(texts.map((text) => text.toLowerCase()));
  const lengths = new Set([...folded].flatMap(lengthsBeforeFolding));
  const isFolded = (value: Scalar): boolean => typeof value === "string" && lengths.has(value.length);
  return {
    isMatch: (value) => isFolded(value) && folded.has((value as string).toLowerCase()),
    stepsOf: (value) => (isFolded(value) ? stepsOfFolding((value as string).length) : 1),
  };
}

/** Lengths that a text may have before folding. Lower case has the same length, except for İ: it becomes i and a dot above. */
function lengthsBeforeFolding(folded: string): number[] {
  const dotted = folded.split("i\u0307").length - 1;
  return Array.from({ length: dotted + 1 }, (_, shorter) => folded.length - shorter);
}

function anythingBut({ isMatch, stepsOf }: Test): Test {
  return { isMatch: (value) => !isMatch(value), stepsOf };
}

/** The test that a value must not pass, for `anything-but`. */
function readExceptions(operand: unknown, path: string): Test {
  if (!isJsonObject(operand)) {
    return equalsAny(new Set<Scalar>(readList(operand, path, readTextOrNumber)));
  }
  const name = Object.keys(operand)[0] ?? "";
  const testOf = Object.hasOwn(exceptedTexts, name) ? exceptedTexts[name] : undefined;
  if (testOf === undefined) {
    throw new FilterError(
      path,
      `must be a text, a number, a list of texts and numbers, or an object with one of ${Object.keys(exceptedTexts).join(", ")}`,
    );
  }
  return testOf(readList(onlyOperand(operand, name, path), join(path, name), readText));
}

const exceptedTexts: Readonly<Record<string, (texts: readonly string[]) => Test>> = {
  prefix: (texts) => anyAffix(prefix, texts),
  suffix: (texts) => anyAffix(suffix, texts),
  "equals-ignore-case": equalsAnyIgnoringCase,
};

function anyAffix(affix: Affix, texts: readonly string[]): Test {
  const tests = texts.map((text) => affixTest(affix, { text, ignoresCase: false }));
  const steps = texts.reduce((sum, text) => sum + 1 + (text.length >> 4), 0);
  return { isMatch: (value) => tests.some(({ isMatch }) => isMatch(value)), stepsOf: () => steps };
}

const comparisons: Readonly<Record<string, (value: number, bound: number) => boolean>> = {
  "=": (value, bound) => value === bound,
  "<": (value, bound) => value < bound,
  "<=": (value, bound) => value <= bound,
  ">": (value, bound) => value > bound,
  ">=": (value, bound) => value >= bound,
};

/** Reads a comparison such as `["<", 10]`, or a range such as `[">=", 0, "<", 10]`. */
function readComparisons(operand: unknown, path: string): (value: number) => boolean {
  const form = 'must be a comparison such as ["<", 10], or a range such as [">=", 0, "<", 10]';
  if (!Array.isArray(operand) || (operand.length !== 2 && operand.length !== 4))
    throw new FilterError(path, form);
  const [operator, bound, upperOperator, upper] = operand as unknown[];
  const isFirst = readComparison(operator, bound, { path, form });
  if (operand.length === 2) return isFirst;
  const isSecond = readComparison(upperOperator, upper, { path, form });
  const isRange = /^>=?$/.test(operator as string) && /^<=?$/.test(upperOperator as string);
  if (!isRange || (bound as number) > (upper as number)) {
    throw new FilterError(path, `${form}: first the lower bound, then the upper bound`);
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

/** Reads one value, or a list of values. */
function readList<T>(written: unknown, path: string, read: (one: unknown, path: string) => T): T[] {
  if (!Array.isArray(written)) return [read(written, path)];
  if (written.length === 0) throw new FilterError(path, "is an empty list");
  return written.map((one: unknown, index) => read(one, join(path, String(index))));
}

function readScalar(value: unknown, path: string): Scalar {
  if (value === null || ["string", "number", "boolean"].includes(typeof value)) return value as Scalar;
  throw new FilterError(path, "must be a text, a number, true, false, null or an object with one operator");
}

function readTextOrNumber(value: unknown, path: string): string | number {
  if (typeof value === "string" || typeof value === "number") return value;
  throw new FilterError(path, "must be a text or a number");
}

function readText(value: unknown, path: string): string {
  if (typeof value !== "string") throw new FilterError(path, "must be a text");
  return value;
}

function onlyOperand(written: Readonly<Record<string, unknown>>, name: string, path: string): unknown {
  if (Object.keys(written).length === 1 && Object.hasOwn(written, name)) return written[name];
  throw new FilterError(path, `must be a text, or an object with only ${name}`);
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? "…";
  return text.length <= 40 ? text : "…";
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
