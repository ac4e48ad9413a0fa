import { describe, expect, it } from "vitest";
import { createPlaces } from "./places.ts";

describe("places", () => {
  it("count once they have settled, after a walk from the first message", () => {
    let nowMs = 0;
    const places = createPlaces(() => nowMs);
    expect(places.of("a")).toBe(0);
    places.note("a", 10);
    places.note("a", 25);
    places.note("a", 20);
    expect(places.of("a")).toBe(0);
    nowMs = 1_999;
    expect(places.of("a")).toBe(0);
    nowMs = 2_000;
    expect(places.of("a")).toBe(0);
    expect(places.of("a")).toBe(25);
    places.note("a", 40);
    expect(places.of("a")).toBe(25);
    nowMs = 4_000;
    expect([places.of("a"), places.of("a")]).toEqual([0, 40]);
  });

  it("are forgotten when something was passed over", () => {
    let nowMs = 0;
    const places = createPlaces(() => nowMs);
    places.note("a", 10);
    nowMs = 2_000;
    places.of("a");
    expect(places.of("a")).toBe(10);
    places.note("a", 0);
    expect(places.of("a")).toBe(0);
  });

  it("stay bounded", () => {
    const places = createPlaces(() => 0);
    for (let n = 0; n < 10_001; n++) places.note(String(n), 1);
    places.note("0", 5);
    expect(places.of("0")).toBe(0);
  });
});
