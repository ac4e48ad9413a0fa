import { matchesFilters, openFilters } from "../filters/filter.ts";
import type { KnownFilters } from "../filters/knownFilters.ts";
import type { UpgradeGate } from "../items/upgradeGate.ts";
import type { GroupCommit } from "../runtime/groupCommit.ts";
import type { MatchedPublication, NewPublication, Published, StoredPublication } from "./publishItems.ts";
import { filterKeepsChanging } from "./submitItem.ts";

/** How often a publication is submitted. Each time up to a thousand targets may have filters that were not cached. */
const maxTries = 30;

interface Submission {
  commits: GroupCommit<MatchedPublication, StoredPublication>;
  filters: KnownFilters;
  gate: UpgradeGate;
  /** Whose requests share the queue's room. */
  owner: string;
}

/**
 * Submits a publication to the next batch, matched with the cached filters of its targets, and again with those that the
 * database answers were missing.
 * @throws {QueueFullError} when too many wait, {ApiError} 503 while an older process runs, or the database's error.
 */
export async function submitPublication(
  publication: NewPublication,
  { commits, filters, gate, owner }: Submission,
): Promise<Published> {
  const cacheKey = `${owner}/${publication.customerUid ?? ""}`;
  let matches = await matchesFilters(publication, filters.of(cacheKey));
  for (let tries = 0; tries < maxTries; tries++) {
    const { published } = await commits.add({ ...publication, matches });
    if (published.outcome === "filters_changed") {
      const missing = await openFilters(published.filters);
      filters.add(cacheKey, missing);
      matches = new Map([...matches, ...(await matchesFilters(publication, missing))]);
    } else if (published.outcome === "not_open") {
      // The sender is authorized by now: strangers cannot keep older processes from starting.
      await gate.open();
    } else return published;
  }
  throw filterKeepsChanging();
}
