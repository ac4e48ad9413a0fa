import type { Admission, OrgLoad } from "./admission.ts";
import type { Lane } from "./lane.ts";
import { type Reputation, reputations } from "./reputation.ts";

/**
 * Lanes that could start a request and wait for a budget. There is one fair queue per reputation, because each reputation has
 * its own budget. Lanes enter and leave through their own methods ({@link Lane.enterQueue}); a lane is in the queue at most
 * once.
 */
export class ReadyQueue {
  readonly #admission: Admission;
  readonly #queues: Record<Reputation, OrgRoundRobin>;
  readonly #hasOrgBudget: Record<Reputation, (org: OrgLoad) => boolean>;
  #first = 0;

  constructor(admission: Admission) {
    this.#admission = admission;
    const ofEach = <T>(make: (reputation: Reputation) => T): Record<Reputation, T> => ({
      prompt: make("prompt"),
      slow: make("slow"),
      untried: make("untried"),
      hanging: make("hanging"),
    });
    this.#queues = ofEach((reputation) => new OrgRoundRobin(reputation));
    this.#hasOrgBudget = ofEach((reputation) => (org) => admission.hasOrgBudget(org, reputation));
  }

  isEmpty(): boolean {
    const { prompt, slow, untried, hanging } = this.#queues;
    return prompt.length + slow.length + untried.length + hanging.length === 0;
  }

  /** Only for {@link Lane}: adds a lane whose organization is known behind the other lanes of its reputation. */
  push(lane: Lane, org: OrgLoad): void {
    this.#queues[lane.reputation].push(lane, org);
  }

  /** Only for {@link Lane}: removes the lane from any position. */
  remove(lane: Lane, org: OrgLoad): void {
    this.#queues[lane.reputation].remove(lane, org);
  }

  /**
   * Starts one request per lane in turn until no lane can start another. The reputation that goes first changes with each call.
   * @param start Starts one request of the lane or releases its waiting deliveries; returns false if it did neither.
   */
  run(mayGoOn: () => boolean, start: (lane: Lane) => boolean): void {
    this.#first++;
    for (let step = 0; step < reputations.length; step++) {
      const reputation = reputations[(this.#first + step) % reputations.length]!;
      const queue = this.#queues[reputation];
      let passed = 0;
      while (queue.length > passed && this.#admission.hasBudget(reputation) && mayGoOn()) {
        const lane = queue.take(this.#hasOrgBudget[reputation]);
        if (lane === undefined) break;
        lane.leftQueue();
        if (lane.inFlight >= this.#admission.targetShare()) {
          lane.enterQueue();
          passed++;
        } else if (start(lane)) passed = 0;
      }
    }
  }
}

interface OrgQueue {
  org: OrgLoad;
  lanes: Lane[];
}

/**
 * Lanes of one reputation. Organizations take turns (round robin), and so do the targets of each organization. An organization
 * with a thousand targets gets as many turns as one with a single target.
 */
class OrgRoundRobin {
  readonly #reputation: Reputation;
  /** In round-robin order. */
  readonly #round: OrgQueue[] = [];
  readonly #byOrg = new Map<OrgLoad, OrgQueue>();
  #length = 0;
  #isNewestNext = false;

  constructor(reputation: Reputation) {
    this.#reputation = reputation;
  }

  /** Number of waiting lanes. */
  get length(): number {
    return this.#length;
  }

  push(lane: Lane, org: OrgLoad): void {
    this.#length++;
    const known = this.#byOrg.get(org);
    if (known !== undefined) {
      known.lanes.push(lane);
      return;
    }
    const queue = { org, lanes: [lane] };
    this.#byOrg.set(org, queue);
    this.#round.push(queue);
  }

  /**
   * Removes and returns the next lane of the first organization in the round that has room.
   *
   * Untried targets are taken from both ends alternately: a newly created target is tried at once although a thousand older ones
   * wait, and the oldest still get their turn.
   */
  take(hasRoom: (org: OrgLoad) => boolean): Lane | undefined {
    for (let passed = 0; passed < this.#round.length; passed++) {
      const queue = this.#round.shift()!;
      if (!hasRoom(queue.org)) {
        this.#round.push(queue);
        continue;
      }
      if (this.#reputation === "untried") this.#isNewestNext = !this.#isNewestNext;
      const lane = (this.#isNewestNext ? queue.lanes.pop() : queue.lanes.shift())!;
      this.#length--;
      if (queue.lanes.length > 0) this.#round.push(queue);
      else this.#byOrg.delete(queue.org);
      return lane;
    }
    return undefined;
  }

  remove(lane: Lane, org: OrgLoad): void {
    this.#length--;
    const queue = this.#byOrg.get(org)!;
    queue.lanes.splice(queue.lanes.indexOf(lane), 1);
    if (queue.lanes.length > 0) return;
    this.#byOrg.delete(org);
    this.#round.splice(this.#round.indexOf(queue), 1);
  }
}
