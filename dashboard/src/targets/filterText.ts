import { smallObjectProblem } from "../customers/metadataText.ts";
import { numberProblem } from "../payload/numberProblem.ts";

/** The fault of a filter as a sentence, before the service is asked. */
export function filterProblem(text: string): string | undefined {
  const problem = smallObjectProblem(text, '{"payload": {"currency": ["EUR"]}}');
  return problem ?? numberProblem(text, "compared");
}
