import { metadataProblem } from "../customers/metadataText.ts";

/** The fault of a filter as a sentence, before the service is asked. */
export function filterProblem(text: string): string | undefined {
  return metadataProblem(text, '{"payload": {"currency": ["EUR"]}}');
}
