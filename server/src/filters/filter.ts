import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { type Read, unreadable } from "../http/contract/errors.ts";
import type { NewContent } from "../items/item.ts";
import { matchFilter, mostSteps, type Verdict } from "./matchFilter.ts";
import { FilterError, type Pattern, readPattern } from "./pattern.ts";

const maxBytes = 4_096;

export interface StoredFilter {
  /** The filter as JSON. */
  filter: string;
  /** Digest of the filter's JSON text, in the form of an id. */
  filter_digest: string;
}

/** Reads a filter of a request; `message` names the part that is refused. */
export function readFilter(
  filter: Readonly<Record<string, unknown>>,
): Read<{ pattern: Pattern; stored: StoredFilter }> {
  const text = JSON.stringify(filter);
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) return unreadable(`filter has ${bytes} bytes as JSON: ${maxBytes} are allowed`);
  try {
    const stored = { filter: text, filter_digest: digestOf(text) };
    return { ok: true, value: { pattern: readPattern(filter), stored } };
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    const where = error.path === "" ? "filter" : `filter.${error.path}`;
    return unreadable(`${where} ${error.message}`);
  }
}

export interface Filter {
  digest: string;
  pattern: Pattern;
  /** Length of the filter's JSON. */
  size: number;
}

/** Reads a stored filter. If this version cannot read it, every item matches; likewise if a match takes too many steps. */
export function openFilter(text: string): Filter {
  return { digest: digestOf(text), pattern: readStored(text), size: text.length };
}

function readStored(text: string): Pattern {
  try {
    return readPattern(JSON.parse(text) as Record<string, unknown>);
  } catch (error) {
    // Version 1.0.0 stored 1e400 as null, and a later version may know more operators.
    if (!(error instanceof FilterError)) throw error;
    return { fields: [], alternatives: null };
  }
}

/** The first 32 hexadecimal digits of the SHA-256. */
function digestOf(text: string): string {
  return hash("sha256", text, "hex").slice(0, 32);
}

/** The parts of an item that a filter is matched against. */
export type Filtered = Pick<NewContent, "payload" | "eventType" | "correlationId" | "orderingKey">;

/** The document against which a filter is matched. @param payload JSON. */
function documentOf({ payload, eventType, correlationId, orderingKey }: Filtered): unknown {
  return documentWith(JSON.parse(payload.toString("utf8")), {
    event_type: eventType,
    correlation_id: correlationId,
    ordering_key: orderingKey,
  });
}

/** Like {@link documentOf}, for a parsed payload. Metadata that is null is left out. */
export function documentWith(
  payload: unknown,
  metadata: Readonly<Record<"event_type" | "correlation_id" | "ordering_key", string | null>>,
): unknown {
  return {
    payload,
    metadata: Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== null)),
  };
}

/** A document counts as a match if the match takes too many steps to decide, so that no item is withheld by mistake. */
function isLetThrough(verdict: Verdict): boolean {
  return verdict !== "differs";
}

/** Whether an item matches a filter. */
export function matchesFilter(filtered: Filtered, { pattern }: Filter): boolean {
  return isLetThrough(matchFilter(pattern, documentOf(filtered)));
}

/** The most steps of all filters of one publication together: as many as ten filters may take. */
const mostStepsTogether = 10 * mostSteps;

/** For each filter, by its digest: whether the item matches. More than ten filters share the steps of ten. */
export async function matchesFilters(
  filtered: Filtered,
  filters: readonly Filter[],
): Promise<Map<string, boolean>> {
  if (filters.length === 0) return new Map();
  const document = documentOf(filtered);
  const most = Math.min(mostSteps, Math.floor(mostStepsTogether / filters.length));
  return new Map(
    await mapInSlices(filters, ({ digest, pattern }) => [
      digest,
      isLetThrough(matchFilter(pattern, document, most)),
    ]),
  );
}

/** {@link openFilter} for many texts. */
export function openFilters(texts: readonly string[]): Promise<Filter[]> {
  return mapInSlices(texts, openFilter);
}

/** Milliseconds after which work yields to the event loop. One filter may take up to 4 ms. */
const sliceMs = 1;

/** Maps values in time slices, so that a thousand filters do not block the event loop. */
async function mapInSlices<T, R>(many: readonly T[], work: (one: T) => R): Promise<R[]> {
  const results: R[] = [];
  let sinceMs = performance.now();
  for (const one of many) {
    results.push(work(one));
    if (performance.now() - sinceMs < sliceMs) continue;
    await setImmediate();
    sinceMs = performance.now();
  }
  return results;
}

/** The most owners in the cache. Beyond it, the least recently written owner is evicted. */
const mostOwners = 10_000;
/** The most filters cached per owner. Filters of a customer beyond it are read from the database each time. */
const mostOfOne = 1_000;
/** The most characters of all cached filters. A read filter needs up to 35 times its JSON in memory, so about 140 MB in all. */
const mostSize = 4 * 2 ** 20;
/** Entries expire, because nothing invalidates the entry of a filter that was removed. */
const timeToLiveMs = 600_000;

/**
 * A cache of targets' filters, so that items are matched before the transaction. The database compares the filter's digest,
 * and answers with the current filter if it differs: a stale entry costs one more statement.
 */
export class KnownFilters {
  readonly #byOwner = new Map<string, { filters: readonly Filter[]; untilMs: number }>();
  #size = 0;

  /** @param owner a target's id, or `organization/customer` for publications. */
  of(owner: string): readonly Filter[] {
    if (this.#byOwner.size === 0) return none;
    const known = this.#byOwner.get(owner);
    if (known === undefined) return none;
    if (known.untilMs > performance.now()) return known.filters;
    this.#forget(owner);
    return none;
  }

  /** Replaces an owner's filters. */
  note(owner: string, filters: readonly Filter[]): void {
    this.#forget(owner);
    const kept = filters.slice(-mostOfOne);
    this.#byOwner.set(owner, { filters: kept, untilMs: performance.now() + timeToLiveMs });
    this.#size += sizeOf(kept);
    while (this.#byOwner.size > mostOwners || this.#size > mostSize) {
      this.#forget(this.#byOwner.keys().next().value!);
    }
  }

  /** Adds to an owner's filters. */
  add(owner: string, filters: readonly Filter[]): void {
    const all = new Map([...this.of(owner), ...filters].map((filter) => [filter.digest, filter]));
    this.note(owner, [...all.values()]);
  }

  #forget(owner: string): void {
    this.#size -= sizeOf(this.#byOwner.get(owner)?.filters ?? none);
    this.#byOwner.delete(owner);
  }
}

function sizeOf(filters: readonly Filter[]): number {
  return filters.reduce((sum, { size }) => sum + size, 0);
}

const none: readonly Filter[] = [];
