import type { Filter } from "./filter.ts";

/** Owners in the cache; beyond that, the least recently written is evicted. */
const mostOwners = 10_000;
/** Filters cached per owner. The filters of a customer with more targets are read from the database each time. */
const mostOfOne = 1_000;
/** Entries expire, because nothing invalidates a filter that was removed. */
const timeToLiveMs = 600_000;

/**
 * A cache of the filters that targets were last seen with, so that items are matched before the transaction. The database
 * compares the filter's digest and answers with the current filter when it differs: a stale entry costs one more statement.
 */
export class KnownFilters {
  readonly #byOwner = new Map<string, { filters: readonly Filter[]; untilMs: number }>();

  /** @param owner a target's id, or `organization/customer` for publications. */
  of(owner: string): readonly Filter[] {
    if (this.#byOwner.size === 0) return none;
    const known = this.#byOwner.get(owner);
    if (known === undefined) return none;
    if (known.untilMs > performance.now()) return known.filters;
    this.#byOwner.delete(owner);
    return none;
  }

  /** Replaces an owner's filters. */
  note(owner: string, filters: readonly Filter[]): void {
    this.#byOwner.delete(owner);
    this.#byOwner.set(owner, {
      filters: filters.slice(-mostOfOne),
      untilMs: performance.now() + timeToLiveMs,
    });
    if (this.#byOwner.size > mostOwners) this.#byOwner.delete(this.#byOwner.keys().next().value!);
  }

  /** Adds to an owner's filters. */
  add(owner: string, filters: readonly Filter[]): void {
    const all = new Map([...this.of(owner), ...filters].map((filter) => [filter.digest, filter]));
    this.note(owner, [...all.values()]);
  }
}

const none: readonly Filter[] = [];
