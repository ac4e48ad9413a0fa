import { DocumentProblem } from "./jsonPointer.ts";
import { maxJsonBytes } from "./schemas.ts";
import { isJsonObject } from "../http/contract/json.ts";

/** Characters of JSON that one import reads; a value that several webhooks refer to counts for each of them. */
const maxCharacters = 4 * 1024 * 1024;

/** Bounds what an import reads of a document, in which a few bytes can refer to the same large value again and again. */
export class ReadingBudget {
  #left = maxCharacters;
  /** Parts that were too large once, because measuring them again and again takes time, too. */
  readonly #tooLarge = new WeakSet<object>();

  /**
   * Bounds one schema or example of as many parts as there are.
   * @returns a function that counts a part before it is read.
   * @throws {DocumentProblem} when the part is too large, or all parts are together.
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
        throw new DocumentProblem("the document is too large with what it refers to: import it in parts");
      else
        throw new DocumentProblem(
          `${field} has more than ${maxJsonBytes} bytes as JSON with what it refers to`,
        );
    };
  }
}

/** The fewest characters that a value can have as JSON; undefined when these are more than `most`, without reading on. */
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
