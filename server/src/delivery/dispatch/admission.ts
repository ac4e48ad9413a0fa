import type { Lane } from "./lane.ts";

/**
 * What is known of a target, which decides the budget that its requests run on:
 * `prompt` answers, or refuses, at once; `slow` answers, but takes its time; `untried` has not been heard of here;
 * `hanging` held a connection for long without an answer, the last time or at this moment.
 */
export type Standing = "prompt" | "slow" | "untried" | "hanging";

export const standings: readonly Standing[] = ["prompt", "slow", "untried", "hanging"];

/** An organization as far as its deliveries are this node's work. */
export interface OrgAtWork {
  readonly id: string;
  /** Lanes of its targets; the last one takes it along. */
  lanes: number;
  inFlight: number;
  /** Those of `inFlight` to targets that are untried or hang. */
  unproven: number;
  /** Deliveries that wait in memory for targets that are untried or hang. */
  waitingUnproven: number;
}

/**
 * Parts of all requests that may be under way. A request that hangs keeps its slot until its timeout, so the
 * slots that prompt targets may need are never given to others: of 512 the slow and the unproven have 256, of these the
 * unproven 192, and of these the targets that are known to hang 64.
 */
const slowPart = 1 / 2;
const unprovenPart = 3 / 8;
const hangingPart = 1 / 8;
/**
 * Of what the unproven have left, those untried may have this part under way. The more of them turn out to hang, the
 * fewer are tried at a time, and there is always one to be tried next (Choudhury and Hahne, "Dynamic queue length
 * thresholds", 1998). The same rule with the numbers below keeps room for the next target and for other organizations.
 */
const untriedPartOfFree = 1 / 4;
/** And this part of all, however much hangs: none of them is taken for untried for longer than a second or so. */
const untriedReservePart = 1 / 64;
const targetPartOfFree = 1 / 8;
/** An organization alone has seven eighths of all and three quarters of the budget for the unproven. */
const orgTimesFree = 7;
const orgTimesUnprovenFree = 3;

/**
 * Decides which target's request may start next; counts what is under way by standing and organization. Dispatchers of several
 * cells have one between them: the requests of a process, and what of them each kind of target may have, are not divided.
 */
export class Admission {
  readonly #maxInFlight: number;
  readonly #slowLimit: number;
  readonly #unprovenLimit: number;
  readonly #hangingLimit: number;
  readonly #untriedReserve: number;
  readonly #inFlight: Record<Standing, number> = { prompt: 0, slow: 0, untried: 0, hanging: 0 };
  readonly #orgs = new Map<string, OrgAtWork>();
  readonly #pumps: (() => void)[] = [];
  #firstPump = 0;
  #total = 0;

  /** @param maxInFlight Requests under way in all. */
  constructor(maxInFlight: number) {
    this.#maxInFlight = maxInFlight;
    this.#slowLimit = atLeastOne(maxInFlight * slowPart);
    this.#unprovenLimit = atLeastOne(maxInFlight * unprovenPart);
    this.#hangingLimit = atLeastOne(maxInFlight * hangingPart);
    this.#untriedReserve = atLeastOne(maxInFlight * untriedReservePart);
  }

  inFlight(): number {
    return this.#total;
  }

  /** Requests under way to targets that are untried or hang. */
  unproven(): number {
    return this.#inFlight.untried + this.#inFlight.hanging;
  }

  /** More hangs than the budget allows: targets that answered until a moment ago have begun to hang. */
  isStrained(): boolean {
    return this.unproven() > this.#unprovenLimit;
  }

  /** How many requests one target may have under way. */
  targetShare(): number {
    return atLeastOne(this.#free() * targetPartOfFree);
  }

  /** Whether any target of this standing may have one more request. */
  hasBudget(standing: Standing): boolean {
    if (this.#free() <= 0) return false;
    if (standing === "prompt") return true;
    const { slow, untried, hanging } = this.#inFlight;
    if (standing === "untried" && untried < this.#untriedReserve) return true;
    const unproven = untried + hanging;
    if (unproven + slow >= this.#slowLimit) return false;
    if (standing === "slow") return true;
    if (unproven >= this.#unprovenLimit) return false;
    if (standing === "hanging") return hanging < this.#hangingLimit;
    return untried < (this.#unprovenLimit - hanging) * untriedPartOfFree;
  }

  /** Whether the organization leaves enough to others with one more request to a target of this standing. */
  hasOrgBudget(org: OrgAtWork, standing: Standing): boolean {
    if (org.inFlight >= this.#free() * orgTimesFree) return false;
    if (standing === "prompt" || standing === "slow") return true;
    if (standing === "untried" && this.#inFlight.untried < this.#untriedReserve) return true;
    const free = this.#unprovenLimit - this.unproven();
    return org.unproven < Math.max(1, free * orgTimesUnprovenFree);
  }

  started(lane: Lane): void {
    lane.inFlight++;
    this.#count(lane, lane.standing, 1);
  }

  ended(lane: Lane): void {
    lane.inFlight--;
    this.#count(lane, lane.standing, -1);
  }

  /** Lets what the lane has under way count to another budget from now on. */
  move(lane: Lane, standing: Standing): void {
    this.#count(lane, lane.standing, -lane.inFlight);
    lane.standing = standing;
    this.#count(lane, standing, lane.inFlight);
  }

  /** Counts the lane to its organization, as long as it exists. */
  join(lane: Lane, orgId: string): void {
    let org = this.#orgs.get(orgId);
    if (org === undefined) {
      org = { id: orgId, lanes: 0, inFlight: 0, unproven: 0, waitingUnproven: 0 };
      this.#orgs.set(orgId, org);
    }
    org.lanes++;
    lane.org = org;
  }

  /** @param pump has a dispatcher start what it can. */
  takePart(pump: () => void): void {
    this.#pumps.push(pump);
  }

  isShared(): boolean {
    return this.#pumps.length > 1;
  }

  /** Has each dispatcher start what it can, another one first each time. */
  pumpAll(): void {
    this.#firstPump++;
    for (let step = 0; step < this.#pumps.length; step++)
      this.#pumps[(this.#firstPump + step) % this.#pumps.length]!();
  }

  /** The lane, which has nothing in memory or under way, is forgotten. */
  leave({ org }: Lane): void {
    if (org !== undefined && --org.lanes === 0) this.#orgs.delete(org.id);
  }

  orgOf(orgId: string): OrgAtWork | undefined {
    return this.#orgs.get(orgId);
  }

  #free(): number {
    return this.#maxInFlight - this.#total;
  }

  #count({ org }: Lane, standing: Standing, requests: number): void {
    this.#total += requests;
    this.#inFlight[standing] += requests;
    if (org === undefined) return;
    org.inFlight += requests;
    if (isUnproven(standing)) org.unproven += requests;
  }
}

export function isUnproven(standing: Standing): boolean {
  return standing === "untried" || standing === "hanging";
}

function atLeastOne(count: number): number {
  return Math.max(1, Math.floor(count));
}
