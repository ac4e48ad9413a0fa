/** JSON with source text access (ECMAScript 2026), which TypeScript's types do not have yet. Node 20 does not have it either. */
const exactJson = JSON as unknown as {
  parse: (text: string, revive: (key: string, value: unknown, at?: { source: string }) => unknown) => unknown;
  rawJSON: (text: string) => unknown;
  isRawJSON?: (value: unknown) => boolean;
};

/** Whether a value is a number that {@link parseExactly} kept as it was written. */
export function isRawJson(value: unknown): boolean {
  return exactJson.isRawJSON?.(value) === true;
}

/**
 * Parses JSON so that `JSON.stringify` writes each number as it was written, such as 12345678901234567890 in a payload.
 * A number that JavaScript would write differently becomes an object of `JSON.rawJSON`; Node 20 rounds it.
 * @throws {SyntaxError} when the text is not JSON.
 */
export function parseExactly(text: string): unknown {
  return exactJson.parse(text, (_, value, at) =>
    typeof value === "number" && at !== undefined && String(value) !== at.source
      ? exactJson.rawJSON(at.source)
      : value,
  );
}
