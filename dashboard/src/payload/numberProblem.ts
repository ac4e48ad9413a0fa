import { type JsonNode, parseLossless } from "./losslessJson.ts";

/**
 * The use of the numbers: the service returns them exactly as given, or compares them as doubles, where rounding is
 * acceptable.
 */
export type Numbers = "kept" | "compared";

/**
 * Names the first number that JavaScript would send with another value: it rounds whole numbers beyond 2^53, and 1e400
 * becomes null.
 */
export function numberProblem(text: string, numbers: Numbers): string | undefined {
  const node = text.trim() === "" ? undefined : parseLossless(text);
  const found = node && changedNumber(node, numbers);
  if (found === undefined) return undefined;
  const limit = Number.isFinite(Number(found))
    ? `is a whole number beyond ${Number.MAX_SAFE_INTEGER}, which would be rounded`
    : "is a number beyond 1.79e308, which cannot be stored";
  return `${found} ${limit}: write it as a string, "${found}"`;
}

function changedNumber(node: JsonNode, numbers: Numbers): string | undefined {
  switch (node.kind) {
    case "object":
      return firstOf(
        node.entries.map(([, value]) => value),
        numbers,
      );
    case "array":
      return firstOf(node.items, numbers);
    case "number":
      return isChanged(node.text, numbers) ? node.text : undefined;
    case "string":
    case "literal":
      return undefined;
  }
}

function firstOf(nodes: readonly JsonNode[], numbers: Numbers): string | undefined {
  for (const node of nodes) {
    const found = changedNumber(node, numbers);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether JavaScript would send the number with another value. It does not change 1e300, nor 2^70 as JavaScript writes it. */
function isChanged(text: string, numbers: Numbers): boolean {
  const value = Number(text);
  if (!Number.isFinite(value)) return true;
  return numbers === "kept" && /^-?\d+$/.test(text) && digitsOf(text) !== digitsOf(value.toExponential());
}

function digitsOf(text: string): string {
  return text.replaceAll(/e.*$|[-.]/g, "").replace(/0+$/, "");
}
