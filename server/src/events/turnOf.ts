import type { EventFilter } from "./eventFilter.ts";
import { missingOf, sourcesOf } from "./sources.ts";

/** So far an index is skipped through in no time. */
const maxFreeOffset = 1_000;

/**
 * The turn that a page has to wait for: `searches` where events are walked until enough of them fit, or many are skipped;
 * `lists` where a page is put together; none where an index has it in order.
 */
export function turnOf(filter: EventFilter): "lists" | "searches" | undefined {
  // What a target has is its customer's, all of it.
  const searched = filter.targetId === undefined ? filter : { ...filter, customerUid: undefined };
  const [source] = sourcesOf(searched, 0);
  if (missingOf(source!, searched).length > 0 || filter.offset > maxFreeOffset) return "searches";
  return source!.isGathered === true ? "lists" : undefined;
}
