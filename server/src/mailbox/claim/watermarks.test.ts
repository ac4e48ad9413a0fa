import { describe, expect, it } from "vitest";
import { createWatermarks } from "./watermarks.ts";

describe("watermarks of claims", () => {
  it("are used once they are old enough and a claim has started at the first message", () => {
    let nowMs = 0;
    const watermarks = createWatermarks(() => nowMs);
    expect(watermarks.of("a")).toBe(0);
    watermarks.note("a", 0, 10);
    watermarks.note("a", 0, 25);
    watermarks.note("a", 0, 20);
    expect(watermarks.of("a")).toBe(0);
    nowMs = 1_999;
    expect(watermarks.of("a")).toBe(0);
    nowMs = 2_000;
    expect(watermarks.of("a")).toBe(0);
    watermarks.note("a", 0, 30);
    expect(watermarks.of("a")).toBe(25);
    watermarks.note("a", 25, 40);
    expect(watermarks.of("a")).toBe(25);
    nowMs = 4_000;
    expect(watermarks.of("a")).toBe(0);
    watermarks.note("a", 0, 50);
    expect(watermarks.of("a")).toBe(40);
  });

  it("are forgotten when a claim reports that it skipped messages (position 0)", () => {
    let nowMs = 0;
    const watermarks = createWatermarks(() => nowMs);
    watermarks.note("a", 0, 10);
    nowMs = 2_000;
    watermarks.note("a", 0, 20);
    expect(watermarks.of("a")).toBe(10);
    watermarks.note("a", 10, 0);
    expect(watermarks.of("a")).toBe(0);
  });

  it("go back to an earlier message that a claim from the first message found", () => {
    let nowMs = 0;
    const watermarks = createWatermarks(() => nowMs);
    watermarks.note("a", 0, 25);
    nowMs = 2_000;
    expect(watermarks.of("a")).toBe(0);
    watermarks.note("a", 0, 10);
    expect(watermarks.of("a")).toBe(10);
    // A claim that began earlier ends at 30; that does not prove that no message between 10 and 30 is ready.
    watermarks.note("a", 25, 30);
    expect(watermarks.of("a")).toBe(10);
    nowMs = 4_000;
    expect(watermarks.of("a")).toBe(0);
    watermarks.note("a", 0, 40);
    expect(watermarks.of("a")).toBe(30);
  });

  it("ask for a scan from the first message until one was made, whatever refused or earlier claims do", () => {
    let nowMs = 0;
    const watermarks = createWatermarks(() => nowMs);
    watermarks.note("a", 0, 10);
    nowMs = 2_000;
    watermarks.note("a", 0, 20);
    nowMs = 4_000;
    // A refused claim asks for the position and notes nothing.
    expect(watermarks.of("a")).toBe(0);
    expect(watermarks.of("a")).toBe(0);
    watermarks.note("a", 10, 30);
    expect(watermarks.of("a")).toBe(0);
    watermarks.note("a", 0, 40);
    expect(watermarks.of("a")).toBe(30);
  });

  it("are bounded in number", () => {
    const watermarks = createWatermarks(() => 0);
    for (let n = 0; n < 10_001; n++) watermarks.note(String(n), 0, 1);
    watermarks.note("0", 0, 5);
    expect(watermarks.of("0")).toBe(0);
  });
});
