import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { ApiError } from "../http/contract/errors.ts";
import { matchFilter, mostSteps, type Verdict } from "./matchFilter.ts";
import { FilterError, type Pattern, readPattern } from "./pattern.ts";

/** Bytes of a filter as JSON. */
const maxBytes = 4_096;

/** A filter as targets hold it. */
export interface StoredFilter {
  /** The filter as JSON. */
  filter: string;
  /** Names it: two filters of the same text have the same. An id's form. */
  filter_digest: string;
}

/** @throws {ApiError} 400 that names the part of the filter which is none. */
export function storeFilter(filter: Readonly<Record<string, unknown>>): StoredFilter {
  const text = JSON.stringify(filter);
  checkedPattern(filter);
  return { filter: text, filter_digest: digestOf(text) };
}

/** @throws {ApiError} 400 when it is too large, and that names the part of the filter which is none. */
export function checkedPattern(filter: Readonly<Record<string, unknown>>): Pattern {
  const bytes = Buffer.byteLength(JSON.stringify(filter));
  if (bytes > maxBytes) throw new ApiError(400, `filter has ${bytes} bytes as JSON: ${maxBytes} are allowed`);
  try {
    return readPattern(filter);
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    const where = error.path === "" ? "filter" : `filter.${error.path}`;
    throw new ApiError(400, `${where} ${error.message}`, { cause: error });
  }
}

/** A stored filter, read. */
export interface Filter {
  digest: string;
  pattern: Pattern;
}

export function openFilter(text: string): Filter {
  return { digest: digestOf(text), pattern: readPattern(JSON.parse(text) as Record<string, unknown>) };
}

/** The beginning of its SHA-256, as hexadecimal digits. */
function digestOf(text: string): string {
  return hash("sha256", text, "hex").slice(0, 32);
}

/** What a filter looks at, of an item as it was posted. */
export interface Filtered {
  payload: Buffer;
  eventType: string | null;
  correlationId: string | null;
  orderingKey: string | null;
}

/** The document that a filter looks at. @param payload JSON. */
function documentOf({ payload, eventType, correlationId, orderingKey }: Filtered): unknown {
  return documentWith(JSON.parse(payload.toString("utf8")), {
    event_type: eventType,
    correlation_id: correlationId,
    ordering_key: orderingKey,
  });
}

/** The same of a payload that was read. What is null is absent. */
export function documentWith(
  payload: unknown,
  metadata: Readonly<Record<"event_type" | "correlation_id" | "ordering_key", string | null>>,
): unknown {
  return {
    payload,
    metadata: Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== null)),
  };
}

/** Whether an item is for a target with this filter. What cannot be decided is: nothing is withheld by a guess. */
function isLetThrough(verdict: Verdict): boolean {
  return verdict !== "differs";
}

/** Whether an item is let through by a filter. */
export function isPassed(filtered: Filtered, { pattern }: Filter): boolean {
  return isLetThrough(matchFilter(pattern, documentOf(filtered)));
}

/** Steps that all filters of one publication may take together, as much as ten filters may at most. */
const mostStepsTogether = 10 * mostSteps;

/** Whether an item is let through by each of some filters, by their digests. More than ten share the steps of ten. */
export async function judge(filtered: Filtered, filters: readonly Filter[]): Promise<Map<string, boolean>> {
  if (filters.length === 0) return new Map();
  const document = documentOf(filtered);
  const most = Math.min(mostSteps, Math.floor(mostStepsTogether / filters.length));
  return new Map(
    await inTurns(filters, ({ digest, pattern }) => [
      digest,
      isLetThrough(matchFilter(pattern, document, most)),
    ]),
  );
}

/** The same as {@link openFilter} of many. */
export function openFilters(texts: readonly string[]): Promise<Filter[]> {
  return inTurns(texts, openFilter);
}

/** After so long, in milliseconds, others have a turn. One filter more may take up to 4 ms. */
const turnMs = 1;

/** Does some work on each of many, and lets others have the event loop between. */
async function inTurns<T, R>(many: readonly T[], work: (one: T) => R): Promise<R[]> {
  const results: R[] = [];
  let sinceMs = performance.now();
  for (const one of many) {
    results.push(work(one));
    if (performance.now() - sinceMs < turnMs) continue;
    await setImmediate();
    sinceMs = performance.now();
  }
  return results;
}
