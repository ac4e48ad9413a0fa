import type { ReadTurns } from "../http/contract/readTurns.ts";
import type { Queries } from "../postgres/tables.ts";
import { listTargets, type StoredTarget, type TargetFilter } from "./record/store.ts";

/** A refusal of such a list, in words for the interface's document. */
export const longLists = "The workspace has too many lists of more than 1,000 targets under way";

/** The longest page of a list; so many targets are read without a turn. */
const maxFree = 1_000;

/** An organization's targets, oldest first. The rest of a list that is longer than any page waits for a turn. */
export async function listInTurns(
  { queries, reads }: { queries: Queries; reads: ReadTurns },
  call: Parameters<ReadTurns["run"]>[1],
  filter: TargetFilter,
): Promise<StoredTarget[]> {
  const { orgId } = call.caller;
  const first = await listTargets(queries, orgId, { ...filter, limit: filter.limit ?? maxFree });
  const last = first.at(-1);
  if (filter.limit !== undefined || first.length < maxFree || last === undefined) return first;
  const rest = await reads.run("lists", call, () =>
    listTargets(queries, orgId, { ...filter, after: last.id }),
  );
  return [...first, ...rest];
}
