import { describe, expect, it } from "vitest";
import { createConsumers } from "./consumers.ts";

function setUp() {
  const clock = { nowMs: 5_000 };
  return { clock, consumers: createConsumers(() => clock.nowMs) };
}

describe("the state of consumers that producers read", () => {
  it("says that a mailbox is busy for 200 ms after a claim for ten or more requests left messages", () => {
    const { clock, consumers } = setUp();
    consumers.noteClaim("few", 9, 100);
    consumers.noteClaim("empty", 32, 7);
    consumers.noteClaim("many", 10, 8);
    expect(["few", "empty", "many", "none"].map((id) => consumers.isBusy(id))).toEqual([
      false,
      false,
      true,
      false,
    ]);
    clock.nowMs += 199;
    consumers.noteClaim("many", 1, 100);
    expect(consumers.isBusy("many")).toBe(true);
    clock.nowMs += 1;
    expect(consumers.isBusy("many")).toBe(false);
  });

  it("says that consumers of a busy mailbox are behind, until a claim leaves few messages", () => {
    const { clock, consumers } = setUp();
    consumers.noteClaim("few", 1, 100);
    expect(consumers.isBehind()).toBe(false);
    consumers.noteClaim("one", 32, 8);
    consumers.noteClaim("other", 32, 0);
    expect(consumers.isBehind()).toBe(true);
    consumers.noteClaim("one", 2, 7);
    expect(consumers.isBehind()).toBe(false);
    consumers.noteClaim("one", 2, 8);
    expect(consumers.isBehind()).toBe(true);
    clock.nowMs += 200;
    expect(consumers.isBehind()).toBe(false);
  });

  it("counts the acknowledged messages", () => {
    const { consumers } = setUp();
    consumers.noteClosed(3);
    consumers.noteClosed(4);
    expect(consumers.consumed()).toBe(7);
  });

  it("holds a bounded number of mailboxes", () => {
    const { consumers } = setUp();
    for (let n = 0; n <= 1_000; n++) consumers.noteClaim(`box ${n}`, 10, 100);
    expect(consumers.isBusy("box 999")).toBe(false);
    expect(consumers.isBusy("box 1000")).toBe(true);
  });
});
