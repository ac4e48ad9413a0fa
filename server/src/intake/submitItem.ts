import { type Filter, type KnownFilters, matchesFilter, openFilter } from "../filters/filter.ts";
import { ApiError } from "../http/contract/errors.ts";
import type { Acceptance, NewItem, UnmatchedItem } from "../items/item.ts";
import type { GroupCommit } from "../runtime/groupCommit.ts";

/** The most times that an item is submitted while its target's filter keeps changing. */
const maxTries = 10;

interface Submission {
  commits: GroupCommit<NewItem, Acceptance | UnmatchedItem>;
  filters: KnownFilters;
}

/**
 * Submits an item to the next batch, matched with the cached filter of its target. If the database answers that the filter has
 * changed, submits it again, matched with the current filter.
 * @throws {QueueFullError} when the queue is full, {ApiError} 503 when the filter keeps changing, or the database's error.
 */
export function submitItem(item: NewItem, { commits, filters }: Submission): Promise<Acceptance> {
  return new Promise<Acceptance>((resolve, reject) => {
    const [known] = filters.of(item.targetId);
    if (known !== undefined) item.match = matchOf(item, known);
    let tries = 0;
    const told = (acceptance: Acceptance | UnmatchedItem): void => {
      if (acceptance.outcome !== "filter_changed") {
        resolve(acceptance);
        return;
      }
      if (++tries === maxTries) {
        reject(filterKeepsChanging());
        return;
      }
      try {
        const filter = acceptance.filter === null ? undefined : openFilter(acceptance.filter);
        filters.note(item.targetId, filter === undefined ? [] : [filter]);
        item.match = filter === undefined ? null : matchOf(item, filter);
      } catch (error) {
        // A callback of a group commit must not throw: it would break the rest of the batch.
        reject(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      commits.put(item, told, reject);
    };
    commits.put(item, told, reject);
  });
}

export function filterKeepsChanging(): ApiError {
  return new ApiError(503, "the target's filter changes too often: try again", { retryAfterSeconds: 1 });
}

function matchOf(item: NewItem, filter: Filter): NewItem["match"] {
  return { filterDigest: filter.digest, isMatch: matchesFilter(item, filter) };
}
