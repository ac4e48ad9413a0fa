import type { DueTarget } from "../rows/dueTargets.ts";
import { maxTargetsPerClaim } from "../rows/store.ts";
import { type Admission, isUnproven, type Standing } from "./admission.ts";
import type { Lanes } from "./lanes.ts";

/** Which of the targets with something due are to be claimed now. */
export interface Chosen {
  /** Those that answer: as much of each as a claim brings. */
  proven: string[];
  /** Those that are untried or hang: one item of each. */
  unproven: string[];
  /** How many of the targets looked at are chosen or passed over; the next look goes on behind them. */
  lookedAt: number;
}

/** Chooses from the targets that have something due, in their order, for how many of each standing there is room. */
export function chooseDue(lanes: Lanes, admission: Admission, due: readonly DueTarget[]): Chosen {
  const nowMs = performance.now();
  const chosen: Chosen = { proven: [], unproven: [], lookedAt: due.length };
  const counts = { untried: 0, hanging: 0 };
  const ofOrgs = new Map<string, number>();
  for (const [index, target] of due.entries()) {
    if (chosen.proven.length + chosen.unproven.length >= maxTargetsPerClaim) {
      chosen.lookedAt = index;
      break;
    }
    const lane = lanes.find(target.id);
    if (lane !== undefined && !lanes.waitingRoom.hasRoom(lane, nowMs)) continue;
    const standing = standingOf(lanes, target);
    if (!isUnproven(standing)) {
      chosen.proven.push(target.id);
      continue;
    }
    const ofStanding = standing === "untried" ? "untried" : "hanging";
    const ofOrg = ofOrgs.get(target.orgId) ?? 0;
    const before = { all: counts[ofStanding], org: ofOrg };
    if (!lanes.waitingRoom.hasUnprovenRoom(standing, admission.orgOf(target.orgId), before)) continue;
    counts[ofStanding]++;
    ofOrgs.set(target.orgId, ofOrg + 1);
    chosen.unproven.push(target.id);
  }
  return chosen;
}

/** A target untried by this node whose last attempt anywhere failed counts as hanging. */
function standingOf(lanes: Lanes, { id, isFailing }: DueTarget): Standing {
  const standing = lanes.standingOf(id);
  return standing === "untried" && isFailing ? "hanging" : standing;
}
