import { expect } from "vitest";
import { storeDueItems, storeOrganization, storeTarget } from "../../../test/support/storedItems.ts";
import { newRootId } from "../../postgres/ids.ts";
import { ensurePartitions } from "../../postgres/partitions.ts";
import { claimDeliveries, firstCursor } from "./store.ts";
import { file, databaseTest } from "../../../test/support/fixtures.ts";
import { tuplesRead } from "../../../test/support/tuplesRead.ts";

/*
 * Counts the tuples that the database reads, because that number is exact and durations are not. As on a fresh service, the
 * functions' plans are cached while the tables are empty.
 */

const it = databaseTest({ poolSize: 1 })
  .extend("org", file, ({}) => newRootId(Date.now()))
  .extend(
    "newTarget",
    file,
    ({ pool, org }) =>
      (enabled: boolean) =>
        storeTarget(pool, org, { enabled }),
  )
  .extend(
    "tuplesSoFar",
    file,
    ({ pool }) =>
      () =>
        tuplesRead(pool, "deliveries"),
  )
  /** Claims a whole circle. @returns the claimed items, and the number of tuples of `deliveries` that were read. */
  .extend(
    "claim",
    file,
    ({ pool, tuplesSoFar }) =>
      async (): Promise<{ brought: number; tuples: number }> => {
        await pool.query("begin");
        const before = await tuplesSoFar();
        const { deliveries, isCircleClosed } = await claimDeliveries(pool, {
          leaseMs: 60_000,
          leaseToken: 1,
          cursor: firstCursor,
          skip: [],
          limit: 100,
          perTarget: 16,
          few: 16,
          wide: [],
        });
        const tuples = (await tuplesSoFar()) - before;
        await pool.query("commit");
        expect(isCircleClosed).toBe(true);
        return { brought: deliveries.length, tuples };
      },
  );

it.beforeAll(async ({ pool, org }) => {
  await ensurePartitions(pool, Date.now());
  await storeOrganization(pool, org);
});

it("a claim reads as many tuples with 40,000 held items of disabled targets as without", async ({
  newTarget,
  pool,
  org,
  claim,
}) => {
  const healthy = await newTarget(true);
  const disabled = await Promise.all([newTarget(false), newTarget(false)]);
  const due = (count: number, targetId: string): Promise<void> =>
    storeDueItems(pool, { orgId: org, targetId, count });
  // PostgreSQL may cache a generic plan from the fifth execution on.
  for (let times = 0; times < 8; times++) {
    await due(10, healthy);
    await claim();
  }
  for (const target of disabled) await due(1, target);
  await due(10, healthy);
  const few = await claim();
  for (const target of disabled) await due(20_000, target);
  await due(10, healthy);
  const many = await claim();
  expect([few.brought, many.brought]).toEqual([10, 10]);
  expect(many.tuples).toBeLessThan(few.tuples + 100);
});
