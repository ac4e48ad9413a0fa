import { describe, expect, it } from "vitest";
import { Pace } from "./pace.ts";
import { Turns } from "./turns.ts";

/** A pace with consumers and a clock that the test controls. */
function setUp() {
  const state = { isBehind: true, consumed: 0, nowMs: 1_000 };
  const turns = new Turns();
  const pace = new Pace(
    { turns, isBehind: () => state.isBehind, consumed: () => state.consumed },
    () => state.nowMs,
  );
  return {
    pace,
    state,
    begin: (size: number): void => {
      turns.begin(() => undefined);
      pace.begin(size);
      turns.end();
    },
    overtake: (): void => {
      turns.begin(() => undefined);
      turns.end();
    },
  };
}

describe("a pace", () => {
  it("delays nothing before the first batch or while consumers keep up", () => {
    const { pace, state, begin } = setUp();
    expect(pace.heldMs()).toBe(0);
    state.isBehind = false;
    begin(32);
    expect(pace.heldMs()).toBe(0);
  });

  it("delays a batch until about as much is consumed as the last batch brought", () => {
    const { pace, state, begin } = setUp();
    begin(32);
    expect(pace.heldMs()).toBe(50);
    state.consumed += 16;
    expect(pace.heldMs()).toBe(50);
    state.consumed += 16;
    expect(pace.heldMs()).toBe(0);
  });

  it("admits less than is consumed, so that a backlog shrinks", () => {
    const { pace, state, begin } = setUp();
    let putIn = 0;
    for (let round = 0; round < 100; round++) {
      if (pace.heldMs() === 0) {
        begin(32);
        putIn += 32;
      }
      state.consumed += 32;
    }
    expect(putIn / state.consumed).toBeGreaterThan(0.75);
    expect(putIn / state.consumed).toBeLessThan(0.95);
  });

  it("releases a batch after 50 ms or after six batches of consumers", () => {
    const { pace, state, begin, overtake } = setUp();
    begin(32);
    state.nowMs += 49;
    expect(pace.heldMs()).toBe(1);
    state.nowMs += 1;
    expect(pace.heldMs()).toBe(0);
    begin(32);
    state.consumed += 2;
    for (let batch = 0; batch < 6; batch++) {
      expect(pace.heldMs()).toBe(50);
      overtake();
      state.consumed += 3;
    }
    expect(pace.heldMs()).toBe(0);
  });

  it("releases a batch after three batches of consumers if these consumed little", () => {
    const { pace, state, begin, overtake } = setUp();
    begin(32);
    for (let batch = 0; batch < 3; batch++) {
      expect(pace.heldMs()).toBe(50);
      overtake();
      state.consumed += 3;
    }
    expect(pace.heldMs()).toBe(0);
    state.consumed += 2;
    expect(pace.heldMs()).toBe(50);
  });

  it("limits the debt after consumers were slow for a while", () => {
    const { pace, state, begin } = setUp();
    for (let batch = 0; batch < 50; batch++) begin(32);
    state.consumed += 48;
    expect(pace.heldMs()).toBe(0);
  });
});
