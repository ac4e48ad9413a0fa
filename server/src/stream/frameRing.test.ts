import { expect, test } from "vitest";
import type { Frame } from "./gatherChanges.ts";
import { FrameRing } from "./frameRing.ts";

const frame: Frame = { type: "item", data: "{}" };

test("a stream that begins in the millisecond of the next frame resumes before that frame", () => {
  const ring = new FrameRing(10, 1_000);
  const id = ring.lastId(5_000);
  const [next] = ring.add([frame], 5_000);
  expect(ring.since({ id, isOwn: true }, 6_000)).toEqual([next]);
});

test("frames of the same millisecond have different ids, in order", () => {
  const ring = new FrameRing(10, 1_000);
  expect(ring.add([frame, frame, frame], 5_000).map(({ id }) => id)).toEqual([5_000, 5_001, 5_002]);
});

test("a client can resume from frames that are kept, but not from dropped ones", () => {
  const ring = new FrameRing(2, 1_000);
  const [first, second, third] = ring.add([frame, frame, frame], 5_000);
  expect(ring.since({ id: first!.id - 1, isOwn: true }, 6_000)).toBeUndefined();
  expect(ring.since({ id: first!.id, isOwn: true }, 6_000)).toEqual([second, third]);
});

test("another node's id is accepted with a tolerance, but not from before this node watched", () => {
  const ring = new FrameRing(10, 1_000);
  const [early] = ring.add([frame], 4_500);
  expect(ring.since({ id: 5_000, isOwn: false }, 6_000)).toEqual([early]);
  expect(ring.since({ id: 2_000, isOwn: false }, 6_000)).toBeUndefined();
});

test("after a gap, a client cannot resume from before it", () => {
  const ring = new FrameRing(10, 1_000);
  const [early] = ring.add([frame], 4_500);
  ring.forget(6_000);
  expect(ring.since({ id: early!.id, isOwn: true }, 6_000)).toBeUndefined();
});

test("after the clock was set back, later frames have higher ids than the stream began with", () => {
  const ring = new FrameRing(10, 1_000);
  const id = ring.lastId(600_000);
  const later = ring.add([frame], 5_000);
  expect(ring.since({ id, isOwn: true }, 5_000)).toEqual(later);
});

test("a client cannot resume from an id of a clock that is ahead, or was set back", () => {
  const ring = new FrameRing(10, 1_000);
  ring.add([frame], 5_000);
  expect(ring.since({ id: 600_000, isOwn: false }, 6_000)).toBeUndefined();
  expect(ring.since({ id: 600_000, isOwn: true }, 6_000)).toBeUndefined();
});
