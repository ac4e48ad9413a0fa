import { smallObjectProblem } from "../customers/metadataText.ts";
import { numberProblem } from "../payload/numberProblem.ts";

/** The error of a filter as a sentence, checked before the request; undefined for a valid filter. */
export function filterProblem(text: string): string | undefined {
  const problem = smallObjectProblem(text, '{"payload": {"currency": ["EUR"]}}');
  return problem ?? numberProblem(text, "compared");
}
