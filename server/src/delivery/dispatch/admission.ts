import { isUnproven, type Reputation } from "./reputation.ts";

/**
 * Parts of the requests that may be in flight. A request that hangs occupies its place until its timeout, so the part reserved
 * for prompt targets is never given to others. Slow and unproven targets together may have 256 of 512 requests, unproven targets
 * alone 192, and hanging targets alone 64.
 */
const slowPart = 1 / 2;
const unprovenPart = 3 / 8;
const hangingPart = 1 / 8;
/**
 * The part of the free unproven budget that untried targets may have. The more of them turn out to hang, the fewer are tried at
 * a time, and one can always be tried next (Choudhury and Hahne, "Dynamic queue length thresholds", 1998). The same rule with
 * the constants below keeps room for the next target and for other organizations.
 */
const untriedPartOfFree = 1 / 4;
/**
 * Untried targets may always have this part of all requests, even if many hang: each stays untried for about a second at most.
 */
const untriedReservePart = 1 / 64;
const targetPartOfFree = 1 / 8;
/**
 * An organization that is alone may have seven eighths of all requests, and three quarters of the budget for unproven targets.
 */
const orgTimesFree = 7;
const orgTimesUnprovenFree = 3;

/** The load of one organization in this process. Only {@link Admission} and the delivery buffer change it. */
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

  /** Requests in flight to unproven targets. */
  get unproven(): number {
    return this.#unproven;
  }

  /** Deliveries that wait in memory for unproven targets. */
  get waitingUnproven(): number {
    return this.#waitingUnproven;
  }

  /** @returns the new number of the organization's lanes. */
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
 * Admission control: limits the requests in flight by reputation and organization (bulkheads), so that hanging receivers leave
 * capacity for receivers that answer. The dispatchers of several cells share one instance, because the limit applies to the
 * process.
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

  /** @param maxInFlight Maximum number of requests in flight in total. */
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

  /** Requests in flight to unproven targets. */
  unproven(): number {
    return this.#inFlight.untried + this.#inFlight.hanging;
  }

  /** Whether more requests hang than the budget allows, because targets that answered recently have begun to hang. */
  isStrained(): boolean {
    return this.unproven() > this.#unprovenLimit;
  }

  /** Maximum number of requests in flight to one target. */
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

  /** Whether the organization leaves enough capacity for others if it sends one more request to a target of this reputation. */
  hasOrgBudget(org: OrgLoad, reputation: Reputation): boolean {
    if (org.inFlight >= this.#free() * orgTimesFree) return false;
    if (reputation === "prompt" || reputation === "slow") return true;
    if (reputation === "untried" && this.#inFlight.untried < this.#untriedReserve) return true;
    const free = this.#unprovenLimit - this.unproven();
    return org.unproven < Math.max(1, free * orgTimesUnprovenFree);
  }

  /** Counts requests to a target of this reputation that begin; a negative `change` counts requests that end. */
  count(reputation: Reputation, org: OrgLoad | undefined, change: number): void {
    this.#total += change;
    this.#inFlight[reputation] += change;
    org?.countRequests(reputation, change);
  }

  /** Returns the organization's load for a new lane, which holds it until {@link leaveOrg}. */
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

  /** @param startReady Starts the requests that a dispatcher can start. */
  addDispatcher(startReady: () => void): void {
    this.#dispatchers.push(startReady);
  }

  isShared(): boolean {
    return this.#dispatchers.length > 1;
  }

  /** Lets each dispatcher start the requests it can. The dispatcher that goes first changes with each call. */
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
