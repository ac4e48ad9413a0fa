import type { Delivery } from "../../items/delivery.ts";
import { isUnproven, type OrgAtWork, type Standing } from "./admission.ts";
import { hasRoom, type Lane, put, takeAll, takeNext, waiting } from "./lane.ts";

const maxDeliveries = 8_192;
const maxBytes = 128 * 1024 * 1024;
/**
 * What may wait for targets that are untried or hang. They are slow to get their turns, and what waits here is under a
 * lease that lapses.
 */
const maxUnproven = 1_024;
const maxUnprovenBytes = 16 * 1024 * 1024;
/** As many requests to targets that are known to hang are ready when one of their budget ends. */
const maxHanging = 16;
/** What one target that is untried may have here; one that hangs has one. */
const maxOfUntried = 8;
/**
 * One target may have this part of what is still free. The more targets are behind, the less each of them holds, and
 * something is left for the next; so it is with organizations among the unproven.
 */
const targetPartOfFree = 1 / 8;
const orgTimesFree = 3;
/** An item for a target that this node knows nothing of, not even its organization, leaves this part to the claims. */
const strangersPart = 3 / 4;

/** How much more fits in memory. */
export interface Room {
  deliveries: number;
  bytes: number;
  /** Of the deliveries, how many may be for targets that are untried or hang. */
  unproven: number;
}

/** Counts the leased deliveries that wait in memory, and says for whom there is room. */
export class WaitingRoom {
  #deliveries = 0;
  #bytes = 0;
  #untried = 0;
  #hanging = 0;
  #unprovenBytes = 0;

  get length(): number {
    return this.#deliveries;
  }

  add(lane: Lane, delivery: Delivery): void {
    put(lane, delivery);
    this.#count(lane, 1, delivery.payload.length);
  }

  /** Takes the lane's next delivery out. */
  take(lane: Lane): Delivery | undefined {
    const delivery = takeNext(lane);
    if (delivery !== undefined) this.#count(lane, -1, -delivery.payload.length);
    return delivery;
  }

  takeAll(lane: Lane): Delivery[] {
    this.#count(lane, -waiting(lane), -lane.bytes);
    return takeAll(lane);
  }

  /** Lets `change` change the lane's standing or organization. */
  recount(lane: Lane, change: () => void): void {
    this.#count(lane, -waiting(lane), -lane.bytes);
    change();
    this.#count(lane, waiting(lane), lane.bytes);
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

  /** Whether one more delivery to the lane's target may wait here. */
  hasRoom(lane: Lane, nowMs: number): boolean {
    if (this.#deliveries >= maxDeliveries || lane.openUntilMs > nowMs) return false;
    if (isUnproven(lane.standing)) {
      const most = lane.standing === "untried" ? maxOfUntried : 1 - lane.inFlight;
      return waiting(lane) < most && this.hasUnprovenRoom(lane.standing, lane.org);
    }
    return hasRoom(lane, nowMs, {
      deliveries: (maxDeliveries - this.#deliveries) * targetPartOfFree,
      bytes: (maxBytes - this.#bytes) * targetPartOfFree,
    });
  }

  /** The same for a target that has nothing here, and about which this node remembers no more than its standing. */
  hasRoomForStranger(standing: Standing): boolean {
    if (this.#deliveries >= maxDeliveries || standing === "hanging") return false;
    return (
      standing !== "untried" ||
      (this.#untried < maxUnproven * strangersPart && this.#unprovenBytes < maxUnprovenBytes * strangersPart)
    );
  }

  /**
   * Whether one more target that is untried or hangs may have something here.
   * @param chosen How many are about to, of all organizations and of this one.
   */
  hasUnprovenRoom(
    standing: Standing,
    org: OrgAtWork | undefined,
    chosen: { all: number; org: number } = { all: 0, org: 0 },
  ): boolean {
    if (this.#unprovenBytes >= maxUnprovenBytes) return false;
    const free =
      standing === "untried" ? maxUnproven - this.#untried : Math.max(0, maxHanging - this.#hanging);
    const left = free - chosen.all;
    return left > 0 && (org?.waitingUnproven ?? 0) + chosen.org < left * orgTimesFree;
  }

  #count({ standing, org }: Lane, deliveries: number, bytes: number): void {
    this.#deliveries += deliveries;
    this.#bytes += bytes;
    if (!isUnproven(standing)) return;
    if (standing === "untried") this.#untried += deliveries;
    else this.#hanging += deliveries;
    this.#unprovenBytes += bytes;
    if (org !== undefined) org.waitingUnproven += deliveries;
  }
}
