import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { GroupCommit, NotBegunError, QueueFullError } from "./groupCommit.ts";
import { afterImmediates, controlled } from "../../test/support/controlledGroupCommit.ts";

describe("a group commit", () => {
  it("gives each caller its own result, whatever batch its piece is in", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 1, maxLength: 200 }),
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 200 }),
        async (works, maxBatch, maxBatchBytes) => {
          const sizes: number[] = [];
          const commits = new GroupCommit<number, number>({
            run: (batch) => {
              sizes.push(batch.length);
              return Promise.resolve(batch.map((work) => work * 2));
            },
            isPieceAtFault: () => false,
            sizeOf: (work) => work,
            maxBatch,
            maxBatchBytes,
            maxQueued: 1_000,
          });
          expect(await Promise.all(works.map((work) => commits.add(work)))).toEqual(
            works.map((work) => work * 2),
          );
          expect(Math.max(...sizes)).toBeLessThanOrEqual(maxBatch);
          await commits.drained();
          expect(commits.pending()).toBe(0);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("gathers the next batch while one commits, and starts a second one at once only if it is full", async () => {
    const { commits, runs, begun } = controlled({ maxBatch: 42 });
    const first = commits.add(1);
    await begun(1);
    const few = [2, 3].map((work) => commits.add(work));
    await new Promise((resolve) => setImmediate(resolve));
    expect(runs).toHaveLength(1);
    const many = Array.from({ length: 39 }, (_, index) => commits.add(index));
    await new Promise((resolve) => setImmediate(resolve));
    expect(runs).toHaveLength(1);
    many.push(commits.add(39));
    await begun(2);
    expect(runs[1]!.batch).toHaveLength(42);
    for (const run of runs) run.commit();
    await Promise.all([first, ...few, ...many]);
  });

  it("lets three batches overlap while the waiting work fills one by its bytes", async () => {
    const { commits, runs, begun } = controlled({ sizeOf: () => 400, maxQueuedBytes: 100_000 });
    const all = Array.from({ length: 20 }, (_, index) => commits.add(index));
    await begun(3);
    await afterImmediates();
    expect(runs.map(({ batch }) => batch.length)).toEqual([2, 2, 2]);
    runs[0]!.commit();
    await begun(4);
    await afterImmediates();
    expect(runs).toHaveLength(4);
    for (let next = 1; next < 10; next++) {
      await begun(next + 1);
      runs[next]!.commit();
    }
    expect(await Promise.all(all)).toEqual(all.map((_, index) => index * 2));
  });

  it("gathers work that no caller waits for until there is enough", async () => {
    const { commits, runs, begun } = controlled({ gather: { count: 3, ms: 600_000 } });
    const few = [1, 2].map((work) => commits.add(work));
    await new Promise((resolve) => setImmediate(resolve));
    expect(runs).toHaveLength(0);
    const third = commits.add(3);
    await begun(1);
    expect(runs[0]!.batch).toEqual([1, 2, 3]);
    runs[0]!.commit();
    expect(await Promise.all([...few, third])).toEqual([2, 4, 6]);
  });

  it("gathers no longer than allowed, and not at all while it is drained", async () => {
    const { commits, runs, begun } = controlled({ gather: { count: 3, ms: 1 } });
    const first = commits.add(1);
    await begun(1);
    runs[0]!.commit();
    expect(await first).toBe(2);
    const patient = controlled({ gather: { count: 3, ms: 600_000 } });
    const second = patient.commits.add(2);
    const drained = patient.commits.drained();
    await patient.begun(1);
    patient.runs[0]!.commit();
    expect(await second).toBe(4);
    await drained;
  });

  it("gathers few pieces for longer, until they are no longer few", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { commits, runs } = controlled({ gather: { count: 100, ms: 20, few: { count: 3, ms: 100 } } });
    const results = [1, 2].map((work) => commits.add(work));
    vi.advanceTimersByTime(99);
    await afterImmediates();
    expect(runs).toHaveLength(0);
    vi.advanceTimersByTime(1);
    await afterImmediates();
    expect(runs.map(({ batch }) => batch)).toEqual([[1, 2]]);
    runs[0]!.commit();
    await afterImmediates();
    results.push(commits.add(3));
    vi.advanceTimersByTime(30);
    results.push(commits.add(4), commits.add(5));
    await afterImmediates();
    expect(runs.map(({ batch }) => batch)).toEqual([
      [1, 2],
      [3, 4, 5],
    ]);
    runs[1]!.commit();
    expect(await Promise.all(results)).toEqual([2, 4, 6, 8, 10]);
    // The next batch gathers from the time of its own first piece.
    results.push(commits.add(6), commits.add(7), commits.add(8));
    vi.advanceTimersByTime(19);
    await afterImmediates();
    expect(runs).toHaveLength(2);
    vi.advanceTimersByTime(1);
    await afterImmediates();
    expect(runs).toHaveLength(3);
    runs[2]!.commit();
    await Promise.all(results);
  });

  it("fails only the faulty piece and none of its neighbours", async () => {
    const commits = new GroupCommit<number, number>({
      run: (batch) =>
        batch.includes(13)
          ? Promise.reject(new Error("a piece"))
          : Promise.resolve(batch.map((work) => work * 2)),
      isPieceAtFault: (error) => (error as Error).message === "a piece",
      sizeOf: () => 1,
      maxBatch: 100,
      maxBatchBytes: 1_000,
      maxQueued: 1_000,
    });
    const works = Array.from({ length: 30 }, (_, index) => index);
    const results = await Promise.allSettled(works.map((work) => commits.add(work)));
    expect(results.map(({ status }) => status)).toEqual(
      works.map((work) => (work === 13 ? "rejected" : "fulfilled")),
    );
  });

  it("fails the whole batch on a database error, because it is unknown what was committed", async () => {
    const { commits, runs, begun } = controlled();
    const both = Promise.allSettled([commits.add(1), commits.add(2)]);
    await begun(1);
    runs[0]!.fail(new Error("the database is away"));
    expect((await both).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(runs).toHaveLength(1);
  });

  it("fails the work that waits behind a failed batch, and accepts new work", async () => {
    const { commits, runs, begun } = controlled({
      isHopeless: (error) => (error as Error).message === "no answer",
    });
    const first = commits.add(1);
    await begun(1);
    const second = commits.add(2);
    runs[0]!.fail(new Error("no answer"));
    await expect(first).rejects.toThrow("no answer");
    await expect(second).rejects.toThrow(NotBegunError);
    const third = commits.add(3);
    await begun(2);
    expect(runs[1]!.batch).toEqual([3]);
    runs[1]!.commit();
    expect(await third).toBe(6);
    expect(commits.pending()).toBe(0);
  });

  it("starts a second batch beside the first when not all waiting work fits into one", async () => {
    const { commits, runs, begun } = controlled({ sizeOf: (work) => work, maxBatchBytes: 10 });
    const first = commits.add(1);
    await begun(1);
    const rest = [6, 4, 5].map((work) => commits.add(work));
    await begun(2);
    expect(runs[1]!.batch).toEqual([6, 4]);
    for (let run = 0; run < 3; run++) {
      await begun(run + 1);
      runs[run]!.commit();
    }
    expect(await Promise.all([first, ...rest])).toEqual([2, 12, 8, 10]);
  });

  it("refuses work beyond its limit, and accepts work again when some is done", async () => {
    const { commits, runs, begun } = controlled({ maxBatch: 10, maxQueued: 2 });
    const first = commits.add(1);
    await begun(1);
    const waiting = [commits.add(2), commits.add(3)];
    await expect(commits.add(4)).rejects.toBeInstanceOf(QueueFullError);
    runs[0]!.commit();
    await first;
    await begun(2);
    const another = commits.add(5);
    for (let run = 1; run < 3; run++) {
      await begun(run + 1);
      runs[run]!.commit();
    }
    expect(await Promise.all([...waiting, another])).toEqual([4, 6, 10]);
  });

  it("starts the next batch before callers get their results, and calls `committed` before the callers", async () => {
    const order: string[] = [];
    const { commits, runs, begun } = controlled({
      committed: (batch, results) =>
        order.push(`${batch.join()} gave ${results.join()}, ${runs.length} begun`),
    });
    const first = commits.add(1).then((result) => order.push(`result ${result}`));
    await begun(1);
    const second = commits.add(2);
    runs[0]!.commit();
    await first;
    expect(order).toEqual(["1 gave 2, 2 begun", "result 2"]);
    runs[1]!.commit();
    expect(await second).toBe(4);
  });

  it("fails the callers of a batch whose `committed` throws, and continues", async () => {
    let isBroken = true;
    const { commits, runs, begun } = controlled({
      committed() {
        if (isBroken) throw new Error("nobody listens");
      },
    });
    const first = commits.add(1);
    await begun(1);
    runs[0]!.commit();
    await expect(first).rejects.toThrow("nobody listens");
    isBroken = false;
    const second = commits.add(2);
    await begun(2);
    runs[1]!.commit();
    expect(await second).toBe(4);
    await commits.drained();
  });
});
