import { type Admission, type OrgAtWork, type Standing, standings } from "./admission.ts";
import type { Lane } from "./lane.ts";

/** The lanes that wait for their turn, by standing: each has its own budget, and one without a budget costs nothing here. */
export class RoundOfTurns {
  readonly #admission: Admission;
  readonly #turns: Record<Standing, Turns>;
  readonly #hasOrgBudget: Record<Standing, (org: OrgAtWork) => boolean>;
  #first = 0;

  constructor(admission: Admission) {
    this.#admission = admission;
    const ofEach = <T>(make: (standing: Standing) => T): Record<Standing, T> => ({
      prompt: make("prompt"),
      slow: make("slow"),
      untried: make("untried"),
      hanging: make("hanging"),
    });
    this.#turns = ofEach((standing) => new Turns(standing));
    this.#hasOrgBudget = ofEach((standing) => (org) => admission.hasOrgBudget(org, standing));
  }

  isEmpty(): boolean {
    const { prompt, slow, untried, hanging } = this.#turns;
    return prompt.length + slow.length + untried.length + hanging.length === 0;
  }

  /** Puts a lane whose organization is known behind those that wait; nothing happens to one that waits already. */
  push(lane: Lane): void {
    this.#turns[lane.standing].push(lane);
  }

  /** Takes a lane out, wherever it stands. */
  remove(lane: Lane): void {
    this.#turns[lane.standing].remove(lane);
  }

  /**
   * Gives each waiting lane a turn until none can start anything more. The standings take turns, too, at having the
   * first choice of what is free.
   * @param start Has the lane one request started, or what waits for it given back, and says whether it did.
   */
  go(mayGoOn: () => boolean, start: (lane: Lane) => boolean): void {
    this.#first++;
    for (let step = 0; step < standings.length; step++) {
      const standing = standings[(this.#first + step) % standings.length]!;
      const turns = this.#turns[standing];
      let passed = 0;
      while (turns.length > passed && this.#admission.hasBudget(standing) && mayGoOn()) {
        const lane = turns.take(this.#hasOrgBudget[standing]);
        if (lane === undefined) break;
        if (lane.inFlight >= this.#admission.targetShare()) {
          turns.push(lane);
          passed++;
        } else if (start(lane)) passed = 0;
      }
    }
  }
}

interface OrgTurn {
  org: OrgAtWork;
  lanes: Lane[];
}

/**
 * Lanes of one standing that could have a request now, if there were room for all. Organizations take turns, and within
 * each its targets: one with a thousand targets is one step of the round, as is one with a single target.
 */
class Turns {
  readonly standing: Standing;
  /** In the order of their turns. */
  readonly #round: OrgTurn[] = [];
  readonly #byOrg = new Map<OrgAtWork, OrgTurn>();
  #lanes = 0;
  #isNewestNext = false;

  constructor(standing: Standing) {
    this.standing = standing;
  }

  /** How many lanes wait for their turn. */
  get length(): number {
    return this.#lanes;
  }

  /** Puts a lane whose organization is known behind those that wait; nothing happens to one that waits already. */
  push(lane: Lane): void {
    if (lane.isQueued) return;
    lane.isQueued = true;
    this.#lanes++;
    const known = this.#byOrg.get(lane.org!);
    if (known !== undefined) {
      known.lanes.push(lane);
      return;
    }
    const turn = { org: lane.org!, lanes: [lane] };
    this.#byOrg.set(turn.org, turn);
    this.#round.push(turn);
  }

  /**
   * Takes the lane whose turn it is out, of the first organization in the round that has room.
   *
   * Untried targets are taken from both ends: one that was set up a moment ago is tried at once although a thousand older
   * ones wait, and the oldest still comes.
   */
  take(hasRoom: (org: OrgAtWork) => boolean): Lane | undefined {
    for (let passed = 0; passed < this.#round.length; passed++) {
      const turn = this.#round.shift()!;
      if (!hasRoom(turn.org)) {
        this.#round.push(turn);
        continue;
      }
      if (this.standing === "untried") this.#isNewestNext = !this.#isNewestNext;
      const lane = (this.#isNewestNext ? turn.lanes.pop() : turn.lanes.shift())!;
      lane.isQueued = false;
      this.#lanes--;
      if (turn.lanes.length > 0) this.#round.push(turn);
      else this.#byOrg.delete(turn.org);
      return lane;
    }
    return undefined;
  }

  /** Takes a lane out, wherever it stands. */
  remove(lane: Lane): void {
    if (!lane.isQueued) return;
    lane.isQueued = false;
    this.#lanes--;
    const turn = this.#byOrg.get(lane.org!)!;
    turn.lanes.splice(turn.lanes.indexOf(lane), 1);
    if (turn.lanes.length > 0) return;
    this.#byOrg.delete(turn.org);
    this.#round.splice(this.#round.indexOf(turn), 1);
  }
}
