import type { Delivery } from "../../items/delivery.ts";
import type { DueTarget } from "../rows/dueTargets.ts";
import { maxTargetsPerClaim } from "../rows/store.ts";
import type { Room } from "./buffer.ts";
import type { Lanes } from "./lanes.ts";
import { isUnproven, type Reputation } from "./reputation.ts";

export const maxPerClaim = 576;
/**
 * The part of a claim that is divided among the targets of the last claim. The rest leaves capacity for other targets, so that
 * the claim can complete its circle over all targets, and no further claim is needed to learn that nothing else is due.
 */
const sharedPerClaim = 512;
/**
 * Number of deliveries that a claim takes of a target not known to take more. It is lower when memory is short, so that many
 * hanging targets fit.
 */
const maxFew = 16;
const fewPartOfRoom = 1 / 64;
/** Unproven targets have an eighth of the room in memory. */
const unprovenPerFew = 8;
/** Assumed size of a payload until the first claim has shown the real sizes. */
const firstGuessBytes = 64 * 1024;

/** The targets of the last claim, and the average size of payloads. */
export interface Seen {
  targets: ReadonlySet<string>;
  bytesPerDelivery: number;
}

/** The state before the first claim. */
export const nothingSeen: Seen = { targets: new Set(), bytesPerDelivery: firstGuessBytes };

/** The limits of one claim. */
export interface ClaimSize {
  limit: number;
  perTarget: number;
  few: number;
}

export function sizeClaim(room: Room, seen: Seen): ClaimSize {
  const fits = Math.min(room.deliveries, Math.ceil(room.bytes / seen.bytesPerDelivery));
  const limit = Math.min(maxPerClaim, fits);
  const few = Math.min(
    maxFew,
    Math.max(1, Math.floor(Math.min(fits, room.unproven * unprovenPerFew) * fewPartOfRoom)),
  );
  return { limit, few, perTarget: Math.max(few, shareOfClaim(limit, seen.targets.size)) };
}

/** How many deliveries one target may have in a claim. */
export function shareOfClaim(limit: number, targets: number): number {
  return Math.ceil(Math.min(limit, sharedPerClaim) / Math.max(1, targets));
}

/**
 * Moving average of payload sizes. It rises at once and falls slowly, because an estimate that is too low would exceed the
 * memory bound.
 */
export function lookAt(deliveries: readonly Delivery[], before: Seen): Seen {
  const targets = new Set<string>();
  let bytes = 0;
  for (const delivery of deliveries) {
    targets.add(delivery.targetId);
    bytes += delivery.payload.length;
  }
  const now = Math.max(1, bytes / deliveries.length);
  const average = now > before.bytesPerDelivery ? now : (now + before.bytesPerDelivery) / 2;
  return { targets, bytesPerDelivery: average };
}

/** The targets with due items from which to claim now. */
export interface Chosen {
  /** Targets that answer; a claim takes as many of their deliveries as its limit allows. */
  proven: string[];
  /** Untried and hanging targets; a claim takes one item of each. */
  unproven: string[];
  /** Number of due targets that were chosen or rejected; the next look starts after them. */
  lookedAt: number;
}

/** Chooses from the targets with due items, in their order, as many of each reputation as there is room for. */
export function chooseDue(lanes: Lanes, due: readonly DueTarget[]): Chosen {
  const { admission, buffer } = lanes.deps;
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
    if (lane !== undefined && !buffer.hasRoom(lane, nowMs)) continue;
    const reputation = reputationOf(lanes, target);
    if (!isUnproven(reputation)) {
      chosen.proven.push(target.id);
      continue;
    }
    const counted = reputation === "untried" ? "untried" : "hanging";
    const ofOrg = ofOrgs.get(target.orgId) ?? 0;
    const before = { all: counts[counted], org: ofOrg };
    if (!buffer.hasUnprovenRoom(reputation, admission.orgOf(target.orgId), before)) continue;
    counts[counted]++;
    ofOrgs.set(target.orgId, ofOrg + 1);
    chosen.unproven.push(target.id);
  }
  return chosen;
}

/** A target that is untried in this process counts as hanging if its last attempt on any node failed. */
function reputationOf(lanes: Lanes, { id, isFailing }: DueTarget): Reputation {
  const reputation = lanes.reputationOf(id);
  return reputation === "untried" && isFailing ? "hanging" : reputation;
}
