import { type Filter, isPassed, openFilter } from "../filters/filter.ts";
import type { KnownFilters } from "../filters/knownFilters.ts";
import { ApiError } from "../http/contract/errors.ts";
import type { Acceptance, NewItem, UnjudgedItem } from "../items/item.ts";
import type { GroupCommit } from "../runtime/groupCommit.ts";

/** A filter that changes while an item is judged by the one before: after so many changes the sender has to come again. */
const mostTries = 10;

interface Judging {
  commits: GroupCommit<NewItem, Acceptance | UnjudgedItem>;
  filters: KnownFilters;
}

/**
 * Accepts an item, judged by the filter of its target: by the one that is known of it, and once more when the database
 * says that it is another.
 * @throws {QueueFullError} when too many wait, {ApiError} 503 when the filter changes all the time, or the database's error.
 */
export function addJudged(item: NewItem, { commits, filters }: Judging): Promise<Acceptance> {
  return new Promise<Acceptance>((resolve, reject) => {
    const [known] = filters.of(item.targetId);
    if (known !== undefined) item.verdict = verdictOf(item, known);
    let tries = 0;
    const told = (acceptance: Acceptance | UnjudgedItem): void => {
      if (acceptance.outcome !== "unjudged") {
        resolve(acceptance);
        return;
      }
      if (++tries === mostTries) {
        reject(
          new ApiError(503, "the target's filter changes too often: try again", { retryAfterSeconds: 1 }),
        );
        return;
      }
      try {
        const filter = acceptance.filter === null ? undefined : openFilter(acceptance.filter);
        filters.note(item.targetId, filter === undefined ? [] : [filter]);
        item.verdict = filter === undefined ? null : verdictOf(item, filter);
      } catch (error) {
        // A group commit's callers must not throw: the others of its batch wait for it.
        reject(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      commits.put(item, told, reject);
    };
    commits.put(item, told, reject);
  });
}

function verdictOf(item: NewItem, filter: Filter): NewItem["verdict"] {
  return { filterDigest: filter.digest, isPassed: isPassed(item, filter) };
}
