import { isObject } from "./subschemas.ts";

/** What a reference of the form `#/a/b` points to within a document (RFC 6901); undefined for nothing. */
export function resolveLocal(document: unknown, reference: string): { value: unknown } | undefined {
  if (reference === "#") return { value: document };
  const segments = segmentsOf(reference);
  let value = document;
  for (const segment of segments ?? []) {
    if (Array.isArray(value) && /^(?:0|[1-9]\d{0,5})$/.test(segment) && Number(segment) < value.length) {
      value = value[Number(segment)] as unknown;
    } else if (isObject(value) && Object.hasOwn(value, segment)) {
      value = value[segment];
    } else {
      return undefined;
    }
  }
  return segments && { value };
}

/** The last name in a reference; empty for one that is none. */
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
