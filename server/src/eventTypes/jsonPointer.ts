import { isJsonObject } from "../http/contract/json.ts";

/** The value that a reference of the form `#/a/b` points to within a document (RFC 6901); undefined for nothing. */
export function resolveLocal(document: unknown, reference: string): { value: unknown } | undefined {
  if (reference === "#") return { value: document };
  const segments = segmentsOf(reference);
  let value = document;
  for (const segment of segments ?? []) {
    if (Array.isArray(value) && /^(?:0|[1-9]\d{0,5})$/.test(segment) && Number(segment) < value.length) {
      value = value[Number(segment)] as unknown;
    } else if (isJsonObject(value) && Object.hasOwn(value, segment)) {
      value = value[segment];
    } else {
      return undefined;
    }
  }
  return segments && { value };
}

/** The last name in a reference; empty for a text that is no reference. */
export function lastSegment(reference: string): string {
  return segmentsOf(reference)?.at(-1) ?? "";
}

function segmentsOf(reference: string): string[] | undefined {
  if (!reference.startsWith("#/")) return undefined;
  try {
    return reference
      .slice(2)
      .split("/")
      .map((segment) => decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~"));
  } catch {
    // A % that begins no escape.
    return undefined;
  }
}

/** A reference in a message, cut where it is long. */
export function shownReference(reference: string): string {
  return reference.length > 100 ? `${reference.slice(0, 100).toWellFormed()}…` : reference;
}

/** Thrown while a document is read, where it cannot be read on; the message says why. Never leaves `readWebhooks`. */
export class DocumentProblem extends Error {}
