import type { Filter } from "./filter.ts";

/** Owners whose filters are remembered; beyond that, those that were told of first are forgotten. */
const mostOwners = 10_000;
/** The most filters of one owner: of a customer whose targets have more, the others are asked for each time. */
const mostOfOne = 1_000;
/** After this they are asked for again, because nobody tells of a filter that was taken away. */
const rememberedMs = 600_000;

/**
 * The filters that targets were last seen with, so that items can be judged before they are stored. The database decides
 * by what a target has then, and tells of what was not known: an entry that is old costs one more statement.
 */
export class KnownFilters {
  readonly #byOwner = new Map<string, { filters: readonly Filter[]; untilMs: number }>();

  /** @param owner A target, or whoever has several. */
  of(owner: string): readonly Filter[] {
    if (this.#byOwner.size === 0) return none;
    const known = this.#byOwner.get(owner);
    if (known === undefined) return none;
    if (known.untilMs > performance.now()) return known.filters;
    this.#byOwner.delete(owner);
    return none;
  }

  /** Notes the filters that an owner has in place of what was known of it. */
  note(owner: string, filters: readonly Filter[]): void {
    this.#byOwner.delete(owner);
    this.#byOwner.set(owner, {
      filters: filters.slice(-mostOfOne),
      untilMs: performance.now() + rememberedMs,
    });
    if (this.#byOwner.size > mostOwners) this.#byOwner.delete(this.#byOwner.keys().next().value!);
  }

  /** Notes filters of an owner beside those that are known. */
  add(owner: string, filters: readonly Filter[]): void {
    const all = new Map([...this.of(owner), ...filters].map((filter) => [filter.digest, filter]));
    this.note(owner, [...all.values()]);
  }
}

const none: readonly Filter[] = [];
