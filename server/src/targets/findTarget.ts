import { ApiError, found, idOf } from "../http/contract/errors.ts";
import type { Queries } from "../postgres/tables.ts";
import { type AnyKind, kindNamed, kindNames } from "./kinds.ts";
import { listTargets, readTarget, type StoredTarget, type TargetFilter } from "./record/store.ts";
import type { ReadTurns } from "../http/contract/readTurns.ts";

/** Reads a target for a route. @throws {ApiError} 404 for what is no id, and for an unknown one. */
export async function findTarget(
  { queries }: { queries: Queries },
  orgId: string,
  id: string,
): Promise<StoredTarget> {
  return found(await readTarget(queries, { orgId, id: idOf(id) }));
}

/** The same for a target of a kind that `has` what the route is about. @throws {ApiError} 400 when its kind has not. */
export async function findTargetThat(
  has: (kind: AnyKind) => boolean,
  deps: { queries: Queries },
  orgId: string,
  id: string,
): Promise<StoredTarget> {
  const target = await findTarget(deps, orgId, id);
  if (has(kindNamed(target.kind))) return target;
  throw new ApiError(
    400,
    `only ${kindNames(has, "and")} targets have this: the target is of kind ${target.kind}`,
  );
}

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
