import { expect, test } from "vitest";
import type { AttemptResult, Delivery } from "../../items/delivery.ts";
import type { TargetConfig } from "../../targets/record/targetConfig.ts";
import { Admission } from "./admission.ts";
import { DeliveryBuffer } from "./buffer.ts";
import { Lane } from "./lane.ts";
import { ReadyQueue } from "./readyQueue.ts";
import type { Reputation } from "./reputation.ts";

interface Stage {
  admission: Admission;
  buffer: DeliveryBuffer;
  ready: ReadyQueue;
  /** A lane of a target that could have many requests in flight. */
  newLane: (orgId: string, reputation: Reputation, targetId?: string) => Lane;
}

function stageWith(maxInFlight = 512): Stage {
  const admission = new Admission(maxInFlight);
  const buffer = new DeliveryBuffer();
  const ready = new ReadyQueue(admission);
  const shared = { admission, buffer, ready, targetConcurrency: 1_000, promptMs: 1_000 };
  const newLane: Stage["newLane"] = (orgId, reputation, targetId = `${orgId}-${reputation}`) => {
    const lane = new Lane(targetId, reputation, shared);
    lane.configure({ orgId, perSecond: null, maxConcurrency: null, failingSince: null } as TargetConfig);
    return lane;
  };
  return { admission, buffer, ready, newLane };
}

/** Starts as many requests as both budgets allow. @returns how many were started. */
function fill(admission: Admission, lane: Lane): number {
  let started = 0;
  while (admission.hasBudget(lane.reputation) && admission.hasOrgBudget(lane.org!, lane.reputation)) {
    lane.begin(0);
    started++;
  }
  return started;
}

const delivery = { payload: Buffer.alloc(100) } as Delivery;
const timedOut: AttemptResult = {
  outcome: { kind: "retry", error: "timeout", countsTowardDisabling: true, slowDown: true },
  statusCode: 0,
  durationMs: 15_000,
  responseBody: null,
  retryAfter: null,
};

test("each reputation has its own budget and leaves the part reserved for prompt targets", () => {
  const { admission, newLane } = stageWith();
  expect(fill(admission, newLane("a", "hanging"))).toBe(64);
  expect(fill(admission, newLane("b", "untried"))).toBe(32);
  expect(fill(admission, newLane("c", "slow"))).toBe(160);
  expect(fill(admission, newLane("d", "prompt"))).toBe(224);
  expect(admission.inFlight()).toBe(480);
});

test("one organization leaves an eighth of the requests free, and each gets less the more organizations are active", () => {
  const { admission, newLane } = stageWith();
  expect(fill(admission, newLane("first", "prompt"))).toBe(448);
  expect(fill(admission, newLane("second", "prompt"))).toBe(56);
  expect(fill(admission, newLane("third", "prompt"))).toBe(7);
});

test("several dispatchers count shared requests once and alternate in going first", () => {
  const { admission, newLane } = stageWith();
  const asked: string[] = [];
  for (const name of ["a", "b", "c"]) admission.addDispatcher(() => asked.push(name));
  expect(admission.isShared()).toBe(true);
  expect(fill(admission, newLane("first", "hanging"))).toBe(64);
  expect(fill(admission, newLane("second", "hanging"))).toBe(0);
  for (let n = 0; n < 3; n++) admission.startReady();
  expect(asked.join("")).toBe("bcacababc");
});

test("some untried targets are tried even if many formerly trusted targets hang", () => {
  const { admission, newLane } = stageWith();
  const trusted = newLane("a", "prompt");
  expect(fill(admission, trusted)).toBe(448);
  expect(admission.isStrained()).toBe(false);
  expect(trusted.noteStall(10_000)).toBe(true);
  expect(trusted.reputation).toBe("hanging");
  expect(admission.isStrained()).toBe(true);
  expect(fill(admission, newLane("b", "slow"))).toBe(0);
  expect(fill(admission, newLane("b", "untried"))).toBe(8);
  for (let n = 0; n < 448; n++) trusted.end();
  expect([admission.isStrained(), admission.unproven()]).toEqual([false, 8]);
});

test("a process that may have one request in flight serves every reputation", () => {
  for (const reputation of ["prompt", "slow", "untried", "hanging"] as const) {
    const { admission, newLane } = stageWith(1);
    expect(fill(admission, newLane("a", reputation))).toBe(1);
  }
});

test("a lane's deliveries and requests count under its current reputation, and all counts end at zero", () => {
  const { admission, buffer, ready, newLane } = stageWith();
  const lane = newLane("a", "untried");
  const org = lane.org!;
  for (let n = 0; n < 4; n++) lane.put(delivery);
  lane.enterQueueIfReady(0);
  expect([buffer.length, org.waitingUnproven, ready.isEmpty()]).toEqual([4, 4, false]);
  lane.take();
  lane.begin(0);
  expect([admission.unproven(), org.unproven, org.waitingUnproven]).toEqual([1, 1, 3]);
  lane.end();
  expect(lane.noteResult({ ...timedOut, outcome: { kind: "delivered" }, durationMs: 1 }, 1)).toBeUndefined();
  // A prompt target belongs to another queue, which the lane has not entered yet.
  expect([lane.reputation, org.waitingUnproven, ready.isEmpty()]).toEqual(["prompt", 0, true]);
  for (const nowMs of [2, 3]) {
    lane.take();
    lane.begin(nowMs);
    lane.end();
    expect(lane.noteResult(timedOut, nowMs)).toBe(nowMs === 3 ? "open" : undefined);
  }
  expect([lane.reputation, org.waitingUnproven, lane.isCircuitOpen(4)]).toEqual(["hanging", 1, true]);
  expect(lane.takeAll()).toHaveLength(1);
  expect([buffer.length, buffer.room().bytes, org.waitingUnproven]).toEqual([0, 128 * 1024 * 1024, 0]);
  expect([admission.inFlight(), org.inFlight, org.unproven]).toEqual([0, 0, 0]);
  lane.close();
  expect(admission.orgOf("a")).toBeUndefined();
});

/** Lanes in the ready queue, in the order of their names. The first letter of a name is its organization. */
function queue({ newLane }: Stage, reputation: Reputation, names: string[]): Lane[] {
  return names.map((name) => {
    const lane = newLane(name[0]!, reputation, name);
    lane.put(delivery);
    lane.enterQueue();
    // A lane is in the queue only once.
    lane.enterQueue();
    return lane;
  });
}

function orderOf({ ready }: Stage): string[] {
  const order: string[] = [];
  ready.run(
    () => true,
    ({ targetId }) => order.push(targetId) > 0,
  );
  expect(ready.isEmpty()).toBe(true);
  return order;
}

test("organizations take turns, and an organization's targets are taken in the order in which they were added", () => {
  const stage = stageWith();
  queue(stage, "prompt", ["a1", "a2", "a3", "a4", "b1", "c1", "c2"]);
  expect(orderOf(stage)).toEqual(["a1", "b1", "c1", "a2", "c2", "a3", "a4"]);
});

test("the newest and the oldest untried targets are taken alternately", () => {
  const stage = stageWith();
  queue(stage, "untried", ["a1", "a2", "a3", "a4", "a5"]);
  expect(orderOf(stage)).toEqual(["a5", "a1", "a4", "a2", "a3"]);
});

test("a lane that has left the queue gets no turn", () => {
  const stage = stageWith();
  queue(stage, "hanging", ["a1", "a2", "b1"]);
  const [left] = queue(stage, "hanging", ["a3"]);
  left!.leaveQueue();
  left!.leaveQueue();
  expect(orderOf(stage)).toEqual(["a1", "b1", "a2"]);
});
