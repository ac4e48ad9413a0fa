import { numberProblem } from "../payload/numberProblem.ts";

const mostBytes = 4096;

/** Metadata as it stands in a form: JSON on lines of its own, and nothing where there is none. */
export function metadataText(metadata: object | undefined): string {
  return metadata === undefined || Object.keys(metadata).length === 0
    ? ""
    : JSON.stringify(metadata, undefined, 2);
}

/** The fault of the value as a sentence, before the service is asked. */
export function metadataProblem(text: string): string | undefined {
  return smallObjectProblem(text, '{"plan": "gold"}') ?? numberProblem(text, "kept");
}

/** The same for an object of at most 4 KiB, but for numbers in it. */
export function smallObjectProblem(text: string, example: string): string | undefined {
  if (text.trim() === "") return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return `Not JSON yet: an object such as ${example}`;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return `Not an object, such as ${example}`;
  return new TextEncoder().encode(JSON.stringify(value)).length > mostBytes ? "At most 4 KiB" : undefined;
}

/** The object that it says; nothing said is an empty one. Only for what has no problem. */
export function metadataOf(text: string): Record<string, unknown> {
  return text.trim() === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
}
