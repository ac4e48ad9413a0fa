import type { Delivery } from "../../items/delivery.ts";
import type { OrgLoad } from "./admission.ts";
import type { Lane } from "./lane.ts";
import { isUnproven, type Reputation } from "./reputation.ts";

const maxDeliveries = 8_192;
const maxBytes = 128 * 1024 * 1024;
/** Maximum deliveries in memory for unproven targets. The number is small, because they are sent late while their leases run. */
const maxUnproven = 1_024;
const maxUnprovenBytes = 16 * 1024 * 1024;
/** Maximum deliveries in memory for hanging targets, so that one can start when another request to a hanging target ends. */
const maxHanging = 16;
/** Maximum deliveries in memory for one untried target; a hanging target may have one. */
const maxOfUntried = 8;
/**
 * The part of the free memory that one target may have. The more targets have a backlog, the less each of them may have, so that
 * some room remains for the next. The same rule applies to organizations with unproven targets.
 */
const targetPartOfFree = 1 / 8;
const orgTimesFree = 3;
/** Number of removed deliveries after which a queue's array is compacted. */
const maxTaken = 1_024;
/**
 * The part of the room that accepted items may use whose target has no lane and whose organization is unknown. The rest is for
 * claims.
 */
const unknownPart = 3 / 4;
/**
 * The part of the memory that accepted items of publications may fill. The rest is for single items and claims: otherwise one
 * large publisher would keep the memory full, and the items of all others would wait in the database for their turn.
 */
const publishedPart = 1 / 2;

/** The deliveries of one lane, first in, first out. */
export class DeliveryQueue {
  /** Removed entries become undefined, so that the array does not keep their payloads in memory. */
  readonly #deliveries: (Delivery | undefined)[] = [];
  /** Index of the first delivery; the array is compacted when many entries before it are unused. */
  #head = 0;
  #bytes = 0;

  get length(): number {
    return this.#deliveries.length - this.#head;
  }

  /** Total size of the payloads in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The delivery that {@link take} returns next. */
  get next(): Delivery | undefined {
    return this.#deliveries[this.#head];
  }

  push(delivery: Delivery): void {
    this.#deliveries.push(delivery);
    this.#bytes += delivery.payload.length;
  }

  take(): Delivery | undefined {
    const delivery = this.#deliveries[this.#head];
    if (delivery === undefined) return undefined;
    this.#deliveries[this.#head] = undefined;
    this.#head++;
    this.#bytes -= delivery.payload.length;
    if (this.#head === this.#deliveries.length) this.#empty();
    else if (this.#head >= maxTaken) {
      this.#deliveries.splice(0, this.#head);
      this.#head = 0;
    }
    return delivery;
  }

  takeAll(): Delivery[] {
    const all = this.#deliveries.slice(this.#head) as Delivery[];
    this.#empty();
    this.#bytes = 0;
    return all;
  }

  #empty(): void {
    this.#deliveries.length = 0;
    this.#head = 0;
  }
}

/** Room left in memory. */
export interface Room {
  deliveries: number;
  bytes: number;
  /** Number of the deliveries that may be for unproven targets. */
  unproven: number;
}

/** Limits the leased deliveries that wait in memory. Lanes hold and count them; this class tells which targets have room. */
export class DeliveryBuffer {
  #deliveries = 0;
  #bytes = 0;
  #untried = 0;
  #hanging = 0;
  #unprovenBytes = 0;

  get length(): number {
    return this.#deliveries;
  }

  /** Counts deliveries that a lane of this reputation adds; negative numbers count deliveries that leave it. */
  count(reputation: Reputation, org: OrgLoad | undefined, deliveries: number, bytes: number): void {
    this.#deliveries += deliveries;
    this.#bytes += bytes;
    if (!isUnproven(reputation)) return;
    if (reputation === "untried") this.#untried += deliveries;
    else this.#hanging += deliveries;
    this.#unprovenBytes += bytes;
    org?.countWaitingUnproven(deliveries);
  }

  room(): Room {
    const deliveries = Math.max(0, maxDeliveries - this.#deliveries);
    const areBytesLeft = this.#unprovenBytes < maxUnprovenBytes;
    return {
      deliveries,
      bytes: Math.max(0, maxBytes - this.#bytes),
      unproven: areBytesLeft ? Math.min(deliveries, Math.max(0, maxUnproven - this.#untried)) : 0,
    };
  }

  /** Whether one more delivery to the lane's target may wait in memory. */
  hasRoom(lane: Lane, nowMs: number): boolean {
    if (this.#deliveries >= maxDeliveries || lane.isClosed(nowMs)) return false;
    if (isUnproven(lane.reputation)) {
      const most = lane.reputation === "untried" ? maxOfUntried : 1 - lane.inFlight;
      return lane.waiting < most && this.hasUnprovenRoom(lane.reputation, lane.org);
    }
    return lane.wantsMore(
      (maxDeliveries - this.#deliveries) * targetPartOfFree,
      (maxBytes - this.#bytes) * targetPartOfFree,
    );
  }

  /** Whether one more delivery may wait in memory for a target without a lane, of which only the reputation is known. */
  hasRoomForUnknown(reputation: Reputation): boolean {
    if (this.#deliveries >= maxDeliveries || reputation === "hanging") return false;
    return (
      reputation !== "untried" ||
      (this.#untried < maxUnproven * unknownPart && this.#unprovenBytes < maxUnprovenBytes * unknownPart)
    );
  }

  /** How many more items of publications may wait in memory; most of their targets are unknown. */
  roomForPublications(): number {
    if (!this.hasRoomForUnknown("untried")) return 0;
    return Math.max(0, maxDeliveries * publishedPart - this.#deliveries);
  }

  /**
   * Whether one more unproven target may have deliveries in memory.
   * @param chosen Number of targets of this reputation already chosen for the next claim: in total, and of this organization.
   */
  hasUnprovenRoom(
    reputation: Reputation,
    org: OrgLoad | undefined,
    chosen: { all: number; org: number } = { all: 0, org: 0 },
  ): boolean {
    if (this.#unprovenBytes >= maxUnprovenBytes) return false;
    const free =
      reputation === "untried" ? maxUnproven - this.#untried : Math.max(0, maxHanging - this.#hanging);
    const left = free - chosen.all;
    return left > 0 && (org?.waitingUnproven ?? 0) + chosen.org < left * orgTimesFree;
  }
}
