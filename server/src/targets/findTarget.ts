import { ApiError, found, idOf } from "../http/contract/errors.ts";
import type { Queries } from "../postgres/tables.ts";
import { type AnyKind, kindNamed, kindNames } from "./kinds.ts";
import { listTargets, readTarget, type StoredTarget, type TargetFilter } from "./record/store.ts";
import { restBetween } from "../runtime/restBetween.ts";
import type { ReadTurns } from "../http/contract/readTurns.ts";

/** Reads a target for a route. @throws {ApiError} 404 for a malformed or unknown id. */
export async function findTarget(
  { queries }: { queries: Queries },
  orgId: string,
  id: string,
): Promise<StoredTarget> {
  return found(await readTarget(queries, { orgId, id: idOf(id) }));
}

/** Like {@link findTarget}. @throws {ApiError} 400 when `has` is false for the target's kind. */
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
    `this route is only for ${kindNames(has, "and")} targets: the target is of kind ${target.kind}`,
  );
}

/** The refusal of a long list, for the interface's document. */
export const longLists = "The organization has too many lists of more than 1,000 targets in progress";

/** The longest page of a list. Up to this number, targets are read without waiting for a turn. */
const maxFree = 1_000;

/** Pauses between the pages of a list. */
const listRests = { undisturbedMs: 20, maxRestMs: 200 };

/**
 * Answers with an organization's targets, oldest first. Targets beyond the longest page are read in a turn of the concurrency
 * limit, page by page, so that other requests are handled in between: 10,000 targets take a tenth of a second of the process.
 */
export async function listInTurns<Answer>(
  { queries, reads }: { queries: Queries; reads: ReadTurns },
  call: Parameters<ReadTurns["run"]>[1],
  filter: TargetFilter,
  answersTo: (targets: StoredTarget[]) => Promise<Answer[]>,
): Promise<Answer[]> {
  const { orgId } = call.caller;
  let page = await listTargets(queries, orgId, { ...filter, limit: filter.limit ?? maxFree });
  const answers = await answersTo(page);
  if (filter.limit !== undefined || page.length < maxFree) return answers;
  return reads.run("lists", call, async () => {
    const inSteps = restBetween(listRests);
    while (page.length === maxFree) {
      const next = { ...filter, after: page.at(-1)!.id, limit: maxFree };
      await inSteps(async () => {
        page = await listTargets(queries, orgId, next);
        answers.push(...(await answersTo(page)));
      });
    }
    return answers;
  });
}
