import { type KnownFilters, matchesFilters, openFilters } from "../filters/filter.ts";
import type { GroupCommit } from "../runtime/groupCommit.ts";
import type { MatchedPublication, NewPublication, Published, StoredPublication } from "./publishItems.ts";
import { filterKeepsChanging } from "./submitItem.ts";

/** The most times that a publication is submitted. Each time, up to a thousand targets may have filters that were not cached. */
const maxTries = 30;

interface Submission {
  commits: GroupCommit<MatchedPublication, StoredPublication>;
  filters: KnownFilters;
  /** The number of items of the last publication to each customer, if it had many. */
  manyItems: Map<string, number>;
  /** The owner whose share of the queue the request uses. */
  owner: string;
}

/**
 * Submits a publication to the next batch, matched with the cached filters of its targets. If the database answers that filters
 * were missing, submits it again, matched with these, too.
 * @throws {QueueFullError} when the queue is full, {ApiError} 503 when filters keep changing, or the database's error.
 */
export async function submitPublication(
  publication: NewPublication,
  { commits, filters, manyItems, owner }: Submission,
): Promise<Published> {
  const cacheKey = `${owner}/${publication.customerUid ?? ""}`;
  let matches = await matchesFilters(publication, filters.of(cacheKey));
  for (let tries = 0; tries < maxTries; tries++) {
    const expectedItems = manyItems.get(cacheKey) ?? 0;
    const { published } = await commits.add({ ...publication, matches, expectedItems });
    if (published.outcome === "accepted") noteItems(manyItems, cacheKey, published.items.length);
    if (published.outcome !== "filters_changed") return published;
    const missing = await openFilters(published.filters);
    filters.add(cacheKey, missing);
    matches = new Map([...matches, ...(await matchesFilters(publication, missing))]);
  }
  throw filterKeepsChanging();
}

/** From how many items on the number is remembered, and of how many customers. */
const remembered = { items: 32, customers: 10_000 };

function noteItems(manyItems: Map<string, number>, cacheKey: string, count: number): void {
  manyItems.delete(cacheKey);
  if (count >= remembered.items) manyItems.set(cacheKey, count);
  if (manyItems.size > remembered.customers) manyItems.delete(manyItems.keys().next().value!);
}
