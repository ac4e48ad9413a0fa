import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Turns } from "./turns.ts";
import { afterImmediates, controlled } from "../../test/support/controlledGroupCommit.ts";

describe("a group commit with a pace", () => {
  /** A pace that delays batches for the time that the test sets. */
  function heldPace() {
    const begun: number[] = [];
    return {
      heldMs: 5_000,
      begun,
      pace: { heldMs: () => held.heldMs, begin: (size: number) => begun.push(size) },
    };
  }
  let held: ReturnType<typeof heldPace>;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    held = heldPace();
  });
  afterEach(() => void vi.useRealTimers());

  it("gathers while its batch is delayed, and starts when the delay is over", async () => {
    const { commits, runs, begun } = controlled({ pace: held.pace });
    const results = [1, 2].map((work) => commits.add(work));
    await afterImmediates();
    vi.advanceTimersByTime(4_999);
    results.push(commits.add(3));
    await afterImmediates();
    expect(runs).toHaveLength(0);
    held.heldMs = 0;
    vi.advanceTimersByTime(5_000);
    await begun(1);
    expect([runs[0]!.batch, held.begun]).toEqual([[1, 2, 3], [3]]);
    runs[0]!.commit();
    expect(await Promise.all(results)).toEqual([2, 4, 6]);
    await commits.drained();
  });

  it("starts when another batch has ended and its own is no longer delayed", async () => {
    const turns = new Turns();
    const [consumers, producers] = [controlled({ turns }), controlled({ turns, pace: held.pace })];
    const results = [producers.commits.add(1), consumers.commits.add(2)];
    await consumers.begun(1);
    consumers.runs[0]!.commit();
    await afterImmediates();
    expect(producers.runs).toHaveLength(0);
    results.push(consumers.commits.add(3));
    await consumers.begun(2);
    held.heldMs = 0;
    consumers.runs[1]!.commit();
    await producers.begun(1);
    producers.runs[0]!.commit();
    expect(await Promise.all(results)).toEqual([2, 4, 6]);
  });

  it("starts beside a hanging batch that began while its own was delayed", async () => {
    const turns = new Turns();
    const [consumers, producers] = [controlled({ turns }), controlled({ turns, pace: held.pace })];
    const results = [producers.commits.add(1)];
    await afterImmediates();
    results.push(consumers.commits.add(2));
    await consumers.begun(1);
    held.heldMs = 0;
    vi.advanceTimersByTime(5_000);
    await afterImmediates();
    expect(producers.runs).toHaveLength(0);
    vi.advanceTimersByTime(50);
    await afterImmediates();
    expect(producers.runs).toHaveLength(1);
    producers.runs[0]!.commit();
    consumers.runs[0]!.commit();
    expect(await Promise.all(results)).toEqual([2, 4]);
  });

  it("does not delay a full batch", async () => {
    const { commits, runs, begun } = controlled({ pace: held.pace, maxBatch: 2 });
    const results = [1, 2].map((work) => commits.add(work));
    await begun(1);
    runs[0]!.commit();
    expect(await Promise.all(results)).toEqual([2, 4]);
  });
});

describe("group commits that take turns", () => {
  it("wait for each other's batches and gather meanwhile", async () => {
    const turns = new Turns();
    const [one, other] = [controlled({ turns }), controlled({ turns })];
    const results = [one.commits.add(1)];
    await one.begun(1);
    results.push(other.commits.add(2), one.commits.add(3));
    await new Promise((resolve) => setImmediate(resolve));
    results.push(other.commits.add(4));
    expect(other.runs).toHaveLength(0);
    one.runs[0]!.commit();
    await other.begun(1);
    expect(other.runs[0]!.batch).toEqual([2, 4]);
    expect(one.runs).toHaveLength(1);
    other.runs[0]!.commit();
    await one.begun(2);
    one.runs[1]!.commit();
    expect(await Promise.all(results)).toEqual([2, 4, 6, 8]);
    expect(turns.isTaken()).toBe(false);
  });

  it("do not wait if their batch is full", async () => {
    const turns = new Turns();
    const [one, other] = [controlled({ turns }), controlled({ turns, maxBatch: 2 })];
    const results = [one.commits.add(1)];
    await one.begun(1);
    results.push(other.commits.add(2), other.commits.add(3));
    await other.begun(1);
    for (const { runs } of [one, other]) runs[0]!.commit();
    expect(await Promise.all(results)).toEqual([2, 4, 6]);
  });

  it("do not wait long for a batch that hangs", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const turns = new Turns();
    const [hanging, other] = [controlled({ turns }), controlled({ turns })];
    const result = hanging.commits.add(1);
    await hanging.begun(1);
    const results = [other.commits.add(2)];
    await afterImmediates();
    expect(other.runs).toHaveLength(0);
    vi.advanceTimersByTime(50);
    await other.begun(1);
    // Its own batches still run one after the other.
    results.push(other.commits.add(3));
    await afterImmediates();
    vi.advanceTimersByTime(1_000);
    await afterImmediates();
    expect(other.runs).toHaveLength(1);
    other.runs[0]!.commit();
    await afterImmediates();
    vi.advanceTimersByTime(50);
    await other.begun(2);
    other.runs[1]!.commit();
    expect(await Promise.all(results)).toEqual([4, 6]);
    hanging.runs[0]!.commit();
    expect(await result).toBe(2);
  });
});
