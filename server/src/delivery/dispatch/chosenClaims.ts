import type { Delivery } from "../../items/delivery.ts";
import { bucketOf } from "../../postgres/ids.ts";
import type { DueTargets } from "../rows/dueTargets.ts";
import { type Claim, type ClaimCursor, firstCursor } from "../rows/store.ts";
import type { Chosen } from "./chooseDue.ts";
import { type ClaimSize, shareOfClaim } from "./claimSize.ts";

export interface ChosenClaimsDeps {
  look: (cursor: ClaimCursor) => Promise<DueTargets>;
  choose: (due: DueTargets["targets"]) => Chosen;
  claim: (only: readonly string[], size: ClaimSize) => Promise<Claim>;
}

/** For so long a target that has more due is claimed from again without another look. */
const lookEveryMs = 200;

/**
 * Claims for when most of the waiting targets have no room here: looks first what is due, which is cheap, chooses, and
 * claims that alone. What is chosen of the proven targets goes on between two looks.
 */
export class ChosenClaims {
  readonly #deps: ChosenClaimsDeps;
  /** Proven targets that had more due than the last claim took. */
  #unfinished: string[] = [];
  #lookAtMs = 0;

  constructor(deps: ChosenClaimsDeps) {
    this.#deps = deps;
  }

  /** @param full Targets that have no room now. */
  async next(cursor: ClaimCursor, size: ClaimSize, full: ReadonlySet<string>): Promise<Claim> {
    const goOn = this.#unfinished.filter((targetId) => !full.has(targetId));
    if (goOn.length > 0 && performance.now() < this.#lookAtMs) {
      const deliveries = await this.#claimProven(goOn, size);
      return { deliveries, cursor, isCircleClosed: false };
    }
    const due = await this.#deps.look(cursor);
    this.#lookAtMs = performance.now() + lookEveryMs;
    const { proven, unproven, lookedAt } = this.#deps.choose(due.targets);
    const deliveries = await this.#claimProven(proven, size);
    const limit = size.limit - deliveries.length;
    if (unproven.length > 0 && limit > 0) {
      const claim = await this.#deps.claim(unproven, { limit, few: 1, perTarget: 1 });
      deliveries.push(...claim.deliveries);
    }
    const last = lookedAt < due.targets.length ? due.targets[lookedAt - 1] : undefined;
    const behind = last === undefined ? due.cursor : { bucket: bucketOf(last.id), targetId: last.id };
    return { deliveries, cursor: behind ?? firstCursor, isCircleClosed: behind === undefined };
  }

  async #claimProven(targetIds: readonly string[], { limit, few }: ClaimSize): Promise<Delivery[]> {
    this.#unfinished = [];
    if (targetIds.length === 0) return [];
    const perTarget = Math.max(few, shareOfClaim(limit, targetIds.length));
    const { deliveries } = await this.#deps.claim(targetIds, { limit, few, perTarget });
    const counts = new Map<string, number>();
    for (const { targetId } of deliveries) counts.set(targetId, (counts.get(targetId) ?? 0) + 1);
    this.#unfinished = targetIds.filter((targetId) => (counts.get(targetId) ?? 0) >= few);
    return deliveries;
  }
}
