import { type StoredFilter, storeFilter } from "../filters/filter.ts";
import type { TargetDeps } from "./createTarget.ts";

/**
 * What changes of a target's row with its filter: null for none, undefined to leave it.
 * @throws {ApiError} 400 that names the part of the filter which is none, 503 while a process of an earlier version runs,
 * which would not heed it.
 */
export async function filterChanges(
  deps: Pick<TargetDeps, "filterGate">,
  filter: Readonly<Record<string, unknown>> | null | undefined,
): Promise<Partial<StoredFilter> | { filter: null; filter_digest: null }> {
  if (filter === undefined) return {};
  if (filter === null) return { filter: null, filter_digest: null };
  const stored = storeFilter(filter);
  await deps.filterGate.open();
  return stored;
}
