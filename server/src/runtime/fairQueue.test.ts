import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { collectGarbage } from "../../test/support/collectGarbage.ts";
import { FairQueue, type FairQueueOptions } from "./fairQueue.ts";

interface Thing {
  owner: string;
  number: number;
  size: number;
}

function queueOf(options: Partial<FairQueueOptions<Thing>> = {}): FairQueue<Thing> {
  return new FairQueue({
    ownerOf: (thing) => thing.owner,
    sizeOf: (thing) => thing.size,
    maxBatch: 64,
    maxBatchSize: 6400,
    maxCount: 1000,
    maxSize: 1_000_000,
    ...options,
  });
}

function fill(queue: FairQueue<Thing>, owner: string, count: number, size = 1): number {
  let taken = 0;
  for (let number = 0; number < count; number++) if (queue.push({ owner, number, size })) taken++;
  return taken;
}

describe("a fair queue", () => {
  it("keeps no reference to a thing that was taken, even while others wait", async () => {
    const queue = queueOf({ maxBatch: 8 });
    fill(queue, "a", 20);
    const taken = queue.take().map((thing) => new WeakRef(thing));
    await collectGarbage();
    expect(taken.map((thing) => thing.deref())).toEqual(Array.from({ length: 8 }, () => undefined));
    expect(queue.take().map(({ number }) => number)).toEqual([8, 9, 10, 11, 12, 13, 14, 15]);
  });

  it("returns everything once, each owner's things in order, in batches within the limits", () => {
    const things = fc.array(fc.record({ owner: fc.constantFrom("a", "b", "c"), size: fc.nat(9000) }), {
      maxLength: 300,
    });
    fc.assert(
      fc.property(things, (all) => {
        const queue = queueOf();
        all.forEach((thing, number) => expect(queue.push({ ...thing, number })).toBe(true));
        const given: Thing[] = [];
        while (queue.length > 0) {
          const isFull = queue.isBatchFull();
          const batch = queue.take();
          expect(batch.length).toBeGreaterThan(0);
          expect(batch.length).toBeLessThanOrEqual(64);
          const size = batch.reduce((sum, thing) => sum + thing.size, 0);
          expect(batch.length === 1 || size <= 6400).toBe(true);
          expect(isFull || queue.length === 0).toBe(true);
          given.push(...batch);
        }
        expect(queue.size).toBe(0);
        for (const owner of ["a", "b", "c"]) {
          const numbers = given.filter((thing) => thing.owner === owner).map(({ number }) => number);
          expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
        }
        expect(given).toHaveLength(all.length);
      }),
    );
  });

  it("serves an owner with few things in the next batch, however many another owner has", () => {
    const queue = queueOf();
    fill(queue, "many", 500);
    fill(queue, "few", 5);
    expect(queue.take().filter(({ owner }) => owner === "few")).toHaveLength(5);
  });

  it("divides by size: one large thing counts as much as many small ones", () => {
    const queue = queueOf();
    fill(queue, "large", 100, 1000);
    fill(queue, "small", 400, 100);
    const sizes = { large: 0, small: 0 };
    for (let batches = 0; batches < 10; batches++) {
      for (const { owner, size } of queue.take()) sizes[owner as "large"] += size;
    }
    expect(sizes.small / sizes.large).toBeGreaterThan(0.8);
    expect(sizes.small / sizes.large).toBeLessThan(1.25);
  });

  it("lets an owner use at most as much room as is free, in count and size, so that other owners find room", () => {
    const byCount = queueOf({ maxCount: 100 });
    expect(fill(byCount, "first", 200)).toBe(50);
    expect(fill(byCount, "second", 200)).toBe(25);
    const bySize = queueOf({ maxSize: 1000 });
    expect(fill(bySize, "first", 200, 10)).toBe(50);
    expect(fill(bySize, "second", 200, 10)).toBe(25);
    expect(fill(bySize, "third", 1, 300)).toBe(0);
  });

  it("without owners gives all room to everyone", () => {
    const queue = queueOf({ ownerOf: undefined, maxCount: 100 });
    expect(fill(queue, "only", 200)).toBe(100);
  });
});
