import { type Numbers, numberProblem } from "../payload/numberProblem.ts";

/** A value as the text of a form field: indented JSON; an empty text for null and undefined. */
export function jsonText(value: unknown): string {
  return value === null || value === undefined ? "" : JSON.stringify(value, undefined, 2);
}

/** Parses a valid text; an empty text is null. */
export function jsonOf(text: string): unknown {
  return text.trim() === "" ? null : (JSON.parse(text) as unknown);
}

/**
 * The error of the text as a sentence, checked before the request; undefined for a valid text. `numbers` says what the
 * service does with the numbers in it.
 */
export function jsonProblem(
  text: string,
  { words = "Invalid JSON", numbers = "compared" }: { words?: string; numbers?: Numbers } = {},
): string | undefined {
  if (text.trim() === "") return undefined;
  try {
    JSON.parse(text);
  } catch {
    return words;
  }
  return numberProblem(text, numbers);
}

/** The error of a text that must be a JSON object, as a sentence. */
export function objectProblem(text: string): string | undefined {
  const problem = jsonProblem(text);
  if (problem !== undefined || text.trim() === "") return problem;
  const value: unknown = JSON.parse(text);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? undefined : "Not an object";
}
