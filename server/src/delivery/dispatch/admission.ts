import { isUnproven, type Reputation } from "./reputation.ts";

/**
 * Parts of all requests that may be under way. A request that hangs cannot be had back before its timeout, so
 * the part that prompt targets may need is never given to others: of 512 the slow and the unproven have 256, of these the
 * unproven 192, and of these the targets that are known to hang 64.
 */
const slowPart = 1 / 2;
const unprovenPart = 3 / 8;
const hangingPart = 1 / 8;
/**
 * Untried targets may have this part of what the unproven have left. The more of them turn out to hang, the
 * fewer are tried at a time, and there is always one to be tried next (Choudhury and Hahne, "Dynamic queue length
 * thresholds", 1998). The same rule with the numbers below keeps room for the next target and for other organizations.
 */
const untriedPartOfFree = 1 / 4;
/** Untried targets always have this part of all, however much hangs: each stays untried for a second or so at most. */
const untriedReservePart = 1 / 64;
const targetPartOfFree = 1 / 8;
/** An organization alone has seven eighths of all and three quarters of the budget for the unproven. */
const orgTimesFree = 7;
const orgTimesUnprovenFree = 3;

/** The load of one organization in this process; counted by {@link Admission} and the delivery buffer alone. */
export class OrgLoad {
  readonly id: string;
  #lanes = 0;
  #inFlight = 0;
  #unproven = 0;
  #waitingUnproven = 0;

  constructor(id: string) {
    this.id = id;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Requests under way to targets that are unproven. */
  get unproven(): number {
    return this.#unproven;
  }

  /** Deliveries that wait in memory for targets that are unproven. */
  get waitingUnproven(): number {
    return this.#waitingUnproven;
  }

  /** @returns how many lanes its targets have now. */
  countLanes(change: 1 | -1): number {
    return (this.#lanes += change);
  }

  countRequests(reputation: Reputation, change: number): void {
    this.#inFlight += change;
    if (isUnproven(reputation)) this.#unproven += change;
  }

  countWaitingUnproven(change: number): void {
    this.#waitingUnproven += change;
  }
}

/**
 * Admission control: bounds the requests under way by reputation and organization (bulkheads), so that receivers which
 * hang leave requests to those that answer. The dispatchers of several cells share one, because the bound is the process's.
 */
export class Admission {
  readonly #maxInFlight: number;
  readonly #slowLimit: number;
  readonly #unprovenLimit: number;
  readonly #hangingLimit: number;
  readonly #untriedReserve: number;
  readonly #inFlight: Record<Reputation, number> = { prompt: 0, slow: 0, untried: 0, hanging: 0 };
  readonly #orgs = new Map<string, OrgLoad>();
  readonly #dispatchers: (() => void)[] = [];
  #first = 0;
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

  /** Requests under way to targets that are unproven. */
  unproven(): number {
    return this.#inFlight.untried + this.#inFlight.hanging;
  }

  /** Whether more hangs than the budget allows: targets that answered until a moment ago have begun to hang. */
  isStrained(): boolean {
    return this.unproven() > this.#unprovenLimit;
  }

  /** How many requests one target may have under way. */
  targetShare(): number {
    return atLeastOne(this.#free() * targetPartOfFree);
  }

  /** Whether any target of this reputation may have one more request. */
  hasBudget(reputation: Reputation): boolean {
    if (this.#free() <= 0) return false;
    if (reputation === "prompt") return true;
    const { slow, untried, hanging } = this.#inFlight;
    if (reputation === "untried" && untried < this.#untriedReserve) return true;
    const unproven = untried + hanging;
    if (unproven + slow >= this.#slowLimit) return false;
    if (reputation === "slow") return true;
    if (unproven >= this.#unprovenLimit) return false;
    if (reputation === "hanging") return hanging < this.#hangingLimit;
    return untried < (this.#unprovenLimit - hanging) * untriedPartOfFree;
  }

  /** Whether the organization leaves enough to others with one more request to a target of this reputation. */
  hasOrgBudget(org: OrgLoad, reputation: Reputation): boolean {
    if (org.inFlight >= this.#free() * orgTimesFree) return false;
    if (reputation === "prompt" || reputation === "slow") return true;
    if (reputation === "untried" && this.#inFlight.untried < this.#untriedReserve) return true;
    const free = this.#unprovenLimit - this.unproven();
    return org.unproven < Math.max(1, free * orgTimesUnprovenFree);
  }

  /** Counts requests that begin (or, below zero, end) to a target of this reputation. */
  count(reputation: Reputation, org: OrgLoad | undefined, change: number): void {
    this.#total += change;
    this.#inFlight[reputation] += change;
    org?.countRequests(reputation, change);
  }

  /** The organization of a new lane, which it keeps until {@link leaveOrg}. */
  enterOrg(orgId: string): OrgLoad {
    let org = this.#orgs.get(orgId);
    if (org === undefined) this.#orgs.set(orgId, (org = new OrgLoad(orgId)));
    org.countLanes(1);
    return org;
  }

  leaveOrg(org: OrgLoad): void {
    if (org.countLanes(-1) === 0) this.#orgs.delete(org.id);
  }

  orgOf(orgId: string): OrgLoad | undefined {
    return this.#orgs.get(orgId);
  }

  /** @param startReady Has a dispatcher start what it can. */
  addDispatcher(startReady: () => void): void {
    this.#dispatchers.push(startReady);
  }

  isShared(): boolean {
    return this.#dispatchers.length > 1;
  }

  /** Has each dispatcher start what it can; the first one is another each time. */
  startReady(): void {
    this.#first++;
    const count = this.#dispatchers.length;
    for (let step = 0; step < count; step++) this.#dispatchers[(this.#first + step) % count]!();
  }

  #free(): number {
    return this.#maxInFlight - this.#total;
  }
}

function atLeastOne(count: number): number {
  return Math.max(1, Math.floor(count));
}
