import { numberProblem } from "../payload/numberProblem.ts";

const mostBytes = 4096;

/** Metadata as the text of a form field: indented JSON; an empty text without metadata. */
export function metadataText(metadata: object | undefined): string {
  return metadata === undefined || Object.keys(metadata).length === 0
    ? ""
    : JSON.stringify(metadata, undefined, 2);
}

/** The error of the text as a sentence, checked before the request; undefined for a valid text. */
export function metadataProblem(text: string): string | undefined {
  return smallObjectProblem(text, '{"plan": "gold"}') ?? numberProblem(text, "kept");
}

/** The error of a text that must be a JSON object of at most 4 KiB, as a sentence. Numbers in it are not checked. */
export function smallObjectProblem(text: string, example: string): string | undefined {
  if (text.trim() === "") return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return `Invalid JSON: enter an object such as ${example}`;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return `Must be an object, such as ${example}`;
  return new TextEncoder().encode(JSON.stringify(value)).length > mostBytes ? "At most 4 KiB" : undefined;
}

/** Parses a valid text; an empty text is an empty object. */
export function metadataOf(text: string): Record<string, unknown> {
  return text.trim() === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
}
