import type { Delivery } from "../../items/delivery.ts";
import type { Room } from "./waitingRoom.ts";

export const maxPerClaim = 576;
/**
 * The targets that were seen share this much of it. With the rest the claim goes on to the others, closes its circle, and
 * need not be repeated only to learn that nothing else is due.
 */
const sharedPerClaim = 512;
/** What a target gets that nobody has seen take more; less when memory is short, so that many can hang. */
const maxFew = 16;
const fewPartOfRoom = 1 / 64;
/** Those that nobody has seen have an eighth of the room. */
const unprovenPerFew = 8;
/** Payloads are taken for this large before the first claim has shown how large they are. */
const firstGuessBytes = 64 * 1024;

/** What the last claims brought. */
export interface Seen {
  targets: ReadonlySet<string>;
  bytesPerDelivery: number;
}

/** Before the first claim. */
export const nothingSeen: Seen = { targets: new Set(), bytesPerDelivery: firstGuessBytes };

/** How much a claim may bring. */
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

/** What each of so many targets may have of a claim. */
export function shareOfClaim(limit: number, targets: number): number {
  return Math.ceil(Math.min(limit, sharedPerClaim) / Math.max(1, targets));
}

/** Moving average of payload sizes: up at once, down slowly, because an estimate too low overruns memory. */
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
