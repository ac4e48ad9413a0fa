import { isJsonObject } from "../http/contract/json.ts";
import { maxJsonBytes } from "./schemas.ts";

/** The value to which a reference of the form `#/a/b` points in a document (RFC 6901); undefined if there is none. */
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

/** The last segment of a reference; empty if the text is no reference. */
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
    // The text has a % that begins no escape sequence.
    return undefined;
  }
}

/** A reference for an error message, cut after 100 characters. */
export function shownReference(reference: string): string {
  return reference.length > 100 ? `${reference.slice(0, 100).toWellFormed()}…` : reference;
}

/** Thrown when a part of a document cannot be read; the message says why. Caught in `readWebhooks`. */
export class DocumentProblem extends Error {}

/** The most characters of JSON that one import reads. A value that several webhooks refer to counts once for each. */
const maxCharacters = 4 * 1024 * 1024;

/** Bounds the size of what an import reads: in a document, a few bytes can refer to the same large value many times. */
export class ReadingBudget {
  #left = maxCharacters;
  /** Parts that were found too large, so that they are not measured again. */
  readonly #tooLarge = new WeakSet<object>();

  /**
   * Bounds one schema or example, together with the parts that it refers to.
   * @returns a function that must be called with each part before the part is read.
   * @throws {DocumentProblem} (from the returned function) when the part is too large, or all parts together are.
   */
  forOne(field: "schema" | "example"): (part: unknown) => void {
    let most = maxJsonBytes;
    return (part) => {
      const bound = Math.min(most, this.#left);
      const isKnown = isJsonObject(part) && this.#tooLarge.has(part);
      const taken = isKnown ? undefined : charactersOf(part, bound);
      if (taken === undefined && isJsonObject(part)) this.#tooLarge.add(part);
      this.#left -= taken ?? bound;
      if (taken !== undefined) most -= taken;
      else if (bound < most)
        throw new DocumentProblem(
          "the document is too large after its references are resolved: import it in parts",
        );
      else
        throw new DocumentProblem(
          `${field} has more than ${maxJsonBytes} bytes as JSON after its references are resolved`,
        );
    };
  }
}

/** A lower bound of a value's length as JSON, in characters. Stops and returns undefined when it exceeds `most`. */
function charactersOf(value: unknown, most: number): number | undefined {
  let count = 0;
  const add = (one: unknown): boolean => {
    count += typeof one === "string" ? one.length + 2 : Array.isArray(one) || isJsonObject(one) ? 2 : 1;
    if (count > most) return false;
    if (Array.isArray(one)) return one.every(add);
    if (!isJsonObject(one)) return true;
    return Object.entries(one).every(([name, member]) => {
      count += name.length + 3;
      return add(member);
    });
  };
  return add(value) ? count : undefined;
}
