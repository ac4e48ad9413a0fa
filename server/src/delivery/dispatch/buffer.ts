import type { Delivery } from "../../items/delivery.ts";
import type { OrgLoad } from "./admission.ts";
import type { Lane } from "./lane.ts";
import { isUnproven, type Reputation } from "./reputation.ts";

const maxDeliveries = 8_192;
const maxBytes = 128 * 1024 * 1024;
/** Deliveries in memory for unproven targets: few, because they are sent late and their leases run meanwhile. */
const maxUnproven = 1_024;
const maxUnprovenBytes = 16 * 1024 * 1024;
/** Deliveries to hanging targets that wait in memory, so that one can start when a request to a hanging target ends. */
const maxHanging = 16;
/** How many deliveries one untried target may have in memory; a hanging one has one. */
const maxOfUntried = 8;
/**
 * One target may have this part of what is still free. The more targets are behind, the less each of them holds, and
 * something is left for the next; the same holds for organizations among the unproven.
 */
const targetPartOfFree = 1 / 8;
const orgTimesFree = 3;
/** The number of taken deliveries after which a queue's array is cut. */
const maxTaken = 1_024;
/** The part of the room for accepted items of targets without a lane, whose organization is not known. Claims have the rest. */
const unknownPart = 3 / 4;

/** The deliveries of one lane, first in, first out. */
export class DeliveryQueue {
  /** Undefined where one was taken, so that the array does not keep its payload in memory. */
  readonly #deliveries: (Delivery | undefined)[] = [];
  /** Index of the first one; the array is cut when many are used up. */
  #head = 0;
  #bytes = 0;

  get length(): number {
    return this.#deliveries.length - this.#head;
  }

  /** The size of all payloads. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The delivery that {@link take} would take out. */
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

/** How much more fits in memory. */
export interface Room {
  deliveries: number;
  bytes: number;
  /** How many of the deliveries may be for unproven targets. */
  unproven: number;
}

/** The bound on leased deliveries that wait in memory. Lanes hold and count them; this says for whom there is room. */
export class DeliveryBuffer {
  #deliveries = 0;
  #bytes = 0;
  #untried = 0;
  #hanging = 0;
  #unprovenBytes = 0;

  get length(): number {
    return this.#deliveries;
  }

  /** Counts deliveries that a lane of this reputation takes in (or, below zero, gives out). */
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

  /** The same for a target without a lane, of which no more than the reputation is known. */
  hasRoomForUnknown(reputation: Reputation): boolean {
    if (this.#deliveries >= maxDeliveries || reputation === "hanging") return false;
    return (
      reputation !== "untried" ||
      (this.#untried < maxUnproven * unknownPart && this.#unprovenBytes < maxUnprovenBytes * unknownPart)
    );
  }

  /**
   * Whether one more unproven target may have something in memory.
   * @param chosen How many targets of this reputation have been chosen for the next claim, in all and of this organization.
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
