import { ApiError, found, idOf } from "../http/contract/errors.ts";
import type { Queries } from "../postgres/tables.ts";
import { type AnyKind, kindNamed, kindNames } from "./kinds.ts";
import { readTarget, type StoredTarget } from "./record/store.ts";

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
