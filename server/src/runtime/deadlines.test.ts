import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createDeadlines, type Deadlines, type Expiring } from "./deadlines.ts";

let deadlines: Deadlines;
let expired: string[];

beforeEach(() => {
  vi.useFakeTimers();
  deadlines = createDeadlines();
  expired = [];
});

afterEach(() => {
  vi.useRealTimers();
});

function item(name: string, timeoutMs: number, onExpire: () => void = () => undefined): Expiring {
  return {
    timeoutMs,
    link: null,
    expire() {
      expired.push(name);
      onExpire();
    },
  };
}

describe("deadlines", () => {
  it("expire each item once, soon after its timeout", () => {
    deadlines.add(item("long", 1_000));
    deadlines.add(item("short", 200));
    vi.advanceTimersByTime(199);
    expect(expired).toEqual([]);
    vi.advanceTimersByTime(51);
    expect(expired).toEqual(["short"]);
    vi.advanceTimersByTime(5_000);
    expect(expired).toEqual(["short", "long"]);
  });

  it("never expire an item that was removed, at any position of the queue", () => {
    const items = ["first", "middle", "last"].map((name) => item(name, 100));
    for (const one of items) deadlines.add(one);
    for (const one of items) {
      deadlines.remove(one);
      deadlines.remove(one);
      expect(one.link).toBeNull();
    }
    deadlines.add(item("later", 100));
    vi.advanceTimersByTime(200);
    expect(expired).toEqual(["later"]);
  });

  it("may be added and removed while an item expires", () => {
    const neighbour = item("neighbour", 100);
    const again: Expiring = item("again", 100, () => {
      if (expired.length === 1) deadlines.add(again);
      deadlines.remove(neighbour);
    });
    deadlines.add(again);
    deadlines.add(neighbour);
    vi.advanceTimersByTime(400);
    expect(expired).toEqual(["again", "again"]);
  });

  it("drop the queue of a timeout that no item has any more", () => {
    const first = item("first", 123.4);
    deadlines.add(first);
    const { earlier: queue } = first.link!;
    deadlines.remove(first);
    vi.advanceTimersByTime(100);
    const second = item("second", 123.4);
    deadlines.add(second);
    expect(second.link!.earlier).not.toBe(queue);
    vi.advanceTimersByTime(200);
    expect(expired).toEqual(["second"]);
  });

  it("run no timer while no item waits", () => {
    const only = item("only", 100);
    deadlines.add(only);
    deadlines.remove(only);
    vi.advanceTimersByTime(100);
    expect(vi.getTimerCount()).toBe(0);
  });
});
