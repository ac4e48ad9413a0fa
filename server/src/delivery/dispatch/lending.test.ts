import { expect, test } from "vitest";
import { createLane, type Lane, noteSuccess, noteTrouble } from "./lane.ts";
import { createBusyMeter, createLending, type HelpingThread, type Lending } from "./lending.ts";

interface Stage {
  lending: Lending;
  /** What the other thread was asked, in order. */
  asked: [targetId: string, requests: number][];
  giveBack: (targetId: string) => void;
  isBusy: boolean;
  isAvailable: boolean;
  nowMs: number;
  /** Loans counted. */
  lent: number;
}

function setStage(): Stage {
  const ends = new Map<string, () => void>();
  const thread: HelpingThread = {
    isAvailable: () => stage.isAvailable,
    help(targetId, requests, ended) {
      stage.asked.push([targetId, requests]);
      ends.set(targetId, ended);
    },
  };
  const stage: Stage = {
    lending: createLending({
      thread,
      isBusy: () => stage.isBusy,
      onLent: () => stage.lent++,
      nowMs: () => stage.nowMs,
    }),
    nowMs: 0,
    lent: 0,
    asked: [],
    giveBack: (targetId) => ends.get(targetId)!(),
    isBusy: true,
    isAvailable: true,
  };
  return stage;
}

/** The lane of a target that takes all that it may have. */
function openLane(targetId: string, requests: number): Lane {
  const lane = createLane(targetId, requests, "prompt");
  while (lane.window < requests) noteSuccess(lane);
  return lane;
}

const wholeShare = 1_000;

test("half of a target's requests is lent once the other half is enough for what is under way", () => {
  const stage = setStage();
  const { lending, asked, giveBack } = stage;
  const lane = openLane("a", 9);
  lane.inFlight = 7;
  lending.offer(lane, wholeShare);
  expect([lane.maxWindow, lane.window, lending.requests(), lending.isLent("a")]).toEqual([5, 5, 4, true]);
  for (const left of [6, 5]) {
    expect(asked).toEqual([]);
    lane.inFlight = left;
    lending.ended(lane);
  }
  expect(asked).toEqual([["a", 4]]);
  lending.offer(lane, wholeShare);
  lending.ended(lane);
  expect(asked).toHaveLength(1);
  giveBack("a");
  expect([lane.maxWindow, lending.requests(), lending.isLent("a")]).toEqual([9, 0, false]);
  while (lane.window < lane.maxWindow) noteSuccess(lane);
  lane.inFlight = 0;
  stage.nowMs = 999;
  lending.offer(lane, wholeShare);
  expect(asked).toHaveLength(1);
  stage.nowMs = 1_000;
  lending.offer(lane, wholeShare);
  expect(asked).toEqual([
    ["a", 4],
    ["a", 4],
  ]);
  expect(stage.lent).toBe(2);
});

test("no more is lent than half of what the target may have of all that is free", () => {
  const { lending, asked } = setStage();
  lending.offer(openLane("a", 32), 5);
  lending.offer(openLane("b", 32), 1);
  expect(asked).toEqual([["a", 2]]);
});

test("nothing is lent of a target with one request, of one that fails or is not fast yet, or without need", () => {
  const stage = setStage();
  const { lending, asked } = stage;
  const failing = openLane("failing", 8);
  noteTrouble(failing, { slowDown: false, isTimeout: false }, 0);
  const fast = openLane("fast", 8);
  for (const lane of [openLane("single", 1), failing, createLane("new", 8, "untried")])
    lending.offer(lane, wholeShare);
  stage.isBusy = false;
  lending.offer(fast, wholeShare);
  stage.isBusy = true;
  stage.isAvailable = false;
  lending.offer(fast, wholeShare);
  expect(asked).toEqual([]);
  expect([fast.maxWindow, lending.requests()]).toEqual([8, 0]);
});

test("64 targets are lent at most", () => {
  const { lending, asked, giveBack } = setStage();
  for (let n = 0; n < 70; n++) lending.offer(openLane(`t${n}`, 4), wholeShare);
  expect(asked).toHaveLength(64);
  giveBack("t0");
  lending.offer(openLane("last", 4), wholeShare);
  expect(asked.at(-1)).toEqual(["last", 2]);
});

test("a thread is busy while its event loop does not wait", () => {
  const loop = { idle: 100, active: 100 };
  const isBusy = createBusyMeter(() => ({ ...loop }));
  loop.idle += 50;
  loop.active += 10;
  expect(isBusy()).toBe(false);
  loop.active += 50;
  expect(isBusy()).toBe(true);
  // Too soon to tell anything else.
  loop.idle += 4;
  expect(isBusy()).toBe(true);
  loop.idle += 1;
  expect(isBusy()).toBe(false);
});
