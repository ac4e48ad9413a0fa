import { ApiError, notFound } from "../http/contract/errors.ts";
import { isId } from "../postgres/ids.ts";
import type { TargetDeps } from "./createTarget.ts";
import { readTarget, type StoredTarget } from "./store.ts";

/** @throws {ApiError} 404 for what is no id, and for an unknown one. */
export async function findTarget(
  deps: Pick<TargetDeps, "queries">,
  orgId: string,
  id: string,
): Promise<StoredTarget> {
  if (!isId(id)) throw notFound();
  return readTarget(deps.queries, orgId, id);
}

/** @throws {ApiError} 400 when the target is of another kind. */
export async function findTargetOfKind(
  deps: Pick<TargetDeps, "queries">,
  orgId: string,
  id: string,
  kind: "webhook" | "a2a",
): Promise<StoredTarget> {
  const target = await findTarget(deps, orgId, id);
  if (target.kind !== kind) {
    throw new ApiError(400, `only ${kind} targets have this: the target is of kind ${target.kind}`);
  }
  return target;
}
