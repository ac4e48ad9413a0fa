import { type Numbers, numberProblem } from "../payload/numberProblem.ts";

/** JSON as it stands in a form, on lines of its own; nothing where there is none. */
export function jsonText(value: unknown): string {
  return value === null || value === undefined ? "" : JSON.stringify(value, undefined, 2);
}

/** The value that it says; null for nothing said. Only for what has no problem. */
export function jsonOf(text: string): unknown {
  return text.trim() === "" ? null : (JSON.parse(text) as unknown);
}

/** The fault of the value as a sentence, before the service is asked. Its numbers are compared, unless they are handed back. */
export function jsonProblem(
  text: string,
  { words = "Not JSON yet", numbers = "compared" }: { words?: string; numbers?: Numbers } = {},
): string | undefined {
  if (text.trim() === "") return undefined;
  try {
    JSON.parse(text);
  } catch {
    return words;
  }
  return numberProblem(text, numbers);
}

/** The same for what has to be an object. */
export function objectProblem(text: string): string | undefined {
  const problem = jsonProblem(text);
  if (problem !== undefined || text.trim() === "") return problem;
  const value: unknown = JSON.parse(text);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? undefined : "Not an object";
}
