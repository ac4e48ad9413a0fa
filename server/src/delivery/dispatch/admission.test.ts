import { expect, test } from "vitest";
import { Admission, type Standing } from "./admission.ts";
import { createLane, type Lane, put } from "./lane.ts";
import { RoundOfTurns } from "./turns.ts";

/** A lane of a target that could have many requests under way. */
function laneOf(admission: Admission, orgId: string, standing: Standing): Lane {
  const lane = createLane(`${orgId}-${standing}`, 1_000, standing);
  admission.join(lane, orgId);
  return lane;
}

/** Starts as many as both budgets allow, and says how many that were. */
function fill(admission: Admission, lane: Lane): number {
  let started = 0;
  while (admission.hasBudget(lane.standing) && admission.hasOrgBudget(lane.org!, lane.standing)) {
    admission.started(lane);
    started++;
  }
  return started;
}

test("each standing has its budget, and leaves what the prompt need", () => {
  const admission = new Admission(512);
  const [a, b, c, d] = ["a", "b", "c", "d"] as const;
  expect(fill(admission, laneOf(admission, a, "hanging"))).toBe(64);
  expect(fill(admission, laneOf(admission, b, "untried"))).toBe(32);
  expect(fill(admission, laneOf(admission, c, "slow"))).toBe(160);
  expect(fill(admission, laneOf(admission, d, "prompt"))).toBe(224);
  expect(admission.inFlight()).toBe(480);
});

test("an organization alone leaves an eighth to others, and the more are at it the less each has", () => {
  const admission = new Admission(512);
  expect(fill(admission, laneOf(admission, "first", "prompt"))).toBe(448);
  expect(fill(admission, laneOf(admission, "second", "prompt"))).toBe(56);
  expect(fill(admission, laneOf(admission, "third", "prompt"))).toBe(7);
});

test("what several dispatchers share is counted once, and they have the first choice of it by turns", () => {
  const admission = new Admission(512);
  const asked: string[] = [];
  for (const name of ["a", "b", "c"]) admission.takePart(() => asked.push(name));
  expect(admission.isShared()).toBe(true);
  expect(fill(admission, laneOf(admission, "first", "hanging"))).toBe(64);
  expect(fill(admission, laneOf(admission, "second", "hanging"))).toBe(0);
  for (let n = 0; n < 3; n++) admission.pumpAll();
  expect(asked.join("")).toBe("bcacababc");
});

test("some untried targets are tried however many of those that were trusted hang", () => {
  const admission = new Admission(512);
  const trusted = laneOf(admission, "a", "prompt");
  expect(fill(admission, trusted)).toBe(448);
  expect(admission.isStrained()).toBe(false);
  admission.move(trusted, "hanging");
  expect(admission.isStrained()).toBe(true);
  expect(fill(admission, laneOf(admission, "b", "slow"))).toBe(0);
  expect(fill(admission, laneOf(admission, "b", "untried"))).toBe(8);
  for (let n = 0; n < 448; n++) admission.ended(trusted);
  expect([admission.isStrained(), admission.unproven()]).toEqual([false, 8]);
});

test("a process with a single request under way serves every standing", () => {
  for (const standing of ["prompt", "slow", "untried", "hanging"] as const) {
    const admission = new Admission(1);
    expect(fill(admission, laneOf(admission, "a", standing))).toBe(1);
  }
});

/** Lanes that wait for their turn, in the order of their names; those of one organization begin with its letter. */
function queue(standing: Standing, names: string[]): { round: RoundOfTurns; admission: Admission } {
  const admission = new Admission(512);
  const round = new RoundOfTurns(admission);
  for (const name of names) {
    const lane = createLane(name, 8, standing);
    admission.join(lane, name[0]!);
    put(lane, { payload: Buffer.alloc(1) } as Parameters<typeof put>[1]);
    round.push(lane);
    // A lane has one turn at a time.
    round.push(lane);
  }
  return { round, admission };
}

function turnsOf({ round }: { round: RoundOfTurns }): string[] {
  const turns: string[] = [];
  round.go(
    () => true,
    ({ targetId }) => turns.push(targetId) > 0,
  );
  expect(round.isEmpty()).toBe(true);
  return turns;
}

test("organizations take turns, and the targets of each in the order they came", () => {
  const names = ["a1", "a2", "a3", "a4", "b1", "c1", "c2"];
  expect(turnsOf(queue("prompt", names))).toEqual(["a1", "b1", "c1", "a2", "c2", "a3", "a4"]);
});

test("of untried targets the newest and the oldest come by turns", () => {
  expect(turnsOf(queue("untried", ["a1", "a2", "a3", "a4", "a5"]))).toEqual(["a5", "a1", "a4", "a2", "a3"]);
});

test("a lane that is taken out has no turn", () => {
  const stage = queue("hanging", ["a1", "a2", "b1"]);
  const removed = createLane("a3", 8, "hanging");
  stage.admission.join(removed, "a");
  stage.round.push(removed);
  stage.round.remove(removed);
  stage.round.remove(removed);
  expect(turnsOf(stage)).toEqual(["a1", "b1", "a2"]);
});
