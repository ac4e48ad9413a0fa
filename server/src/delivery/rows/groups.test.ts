import fc from "fast-check";
import { describe, expect } from "vitest";
import {
  anyStep,
  createPlayer,
  DeliveryModel,
  holdingsOf,
  newLease,
  storedRows,
} from "../../../test/support/deliveryModel.ts";
import { everyAttempt } from "../../../test/support/everyAttempt.ts";
import { ensurePartitions } from "../../postgres/partitions.ts";
import { acceptItems } from "../../intake/acceptItems.ts";
import type { Delivery } from "../../items/delivery.ts";
import { finishDeliveries } from "./store.ts";
import { file, databaseTest } from "../../../test/support/fixtures.ts";

/*
 * Items of one batch share a row of `deliveries` until they are treated differently. Whatever happens to some of them, in any
 * order, each item is in exactly one row while it is due, and in none afterwards.
 */

const it = databaseTest()
  .extend("player", file, ({ pool }) => createPlayer(pool))
  .extend("clear", file, ({ pool }) => async (): Promise<void> => {
    await pool.query("truncate deliveries, attempts, delivered_groups, settlements");
  });

it.beforeAll(async ({ pool }) => {
  await ensurePartitions(pool, Date.now());
});

it.beforeEach(({ clear }) => clear());

describe("rows of several items", () => {
  it("keep each due item in exactly one row, in any order of changes to the others", async ({
    clear,
    player,
    pool,
  }) => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 4, maxLength: 25 }), async (steps) => {
        await clear();
        const model = new DeliveryModel(player);
        for (const step of steps) {
          await model.run(step);
          expect(await holdingsOf(pool)).toEqual(model.expected);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("hold items of one batch and one target, up to 64, and separate immediate items from others", async ({
    player,
    pool,
  }) => {
    const { targets, item, accept } = player;
    // All of one slot.
    const atMs = Math.floor(Date.now() / 1_024) * 1_024;
    const many = Array.from({ length: 100 }, () => item(targets[0], atMs));
    const one = item(targets[1], atMs);
    const taken = await accept([...many, one], (accepted) => many.indexOf(accepted) in many.slice(0, 30));
    expect(taken).toHaveLength(30);
    const rows = (await storedRows(pool)).toSorted((a, b) => a.ids.length - b.ids.length);
    expect(rows.map((row) => row.ids.length)).toEqual([1, 6, 30, 64]);
    expect(rows.map((row) => row.leaseToken !== null)).toEqual([false, false, true, false]);
    expect(rows[0]!.id).toBe(one.id);
  });

  it("leave out refused and replayed items", async ({ player, pool }) => {
    const same = Array.from({ length: 5 }, () => ({
      ...player.item(player.targets[0]),
      idempotencyKey: "the same",
    }));
    const acceptances = await acceptItems(pool, same, newLease(), () => false);
    expect(acceptances.map(({ outcome }) => outcome).toSorted()).toEqual([
      "due",
      ...Array.from({ length: 4 }, () => "replayed"),
    ]);
    const winner = acceptances.find(({ outcome }) => outcome === "due");
    expect((await storedRows(pool)).map(({ ids }) => ids)).toEqual([[winner && "id" in winner && winner.id]]);
  });

  it("are finished by two processes at once without a deadlock", async ({ player, pool }) => {
    const batches: Delivery[][] = [];
    for (let batch = 0; batch < 8; batch++) {
      const items = Array.from({ length: 20 }, () => player.item(player.targets[0]));
      batches.push(await player.accept(items, () => true));
    }
    const half = (number: number): Delivery[] =>
      batches.flatMap((batch) => batch.filter((_delivery, index) => index % 2 === number));
    const results = await Promise.all([
      player.finish(half(0), [1, 2]),
      player.finish(half(1).toReversed(), [3, 1]),
    ]);
    expect(results.flat()).toEqual(Array.from({ length: 160 }, () => true));
    const { due } = await holdingsOf(pool);
    expect([...due.values()]).toEqual(Array.from({ length: 40 }, () => ({ attempts: 1, token: null })));
  });

  it("are recorded as a group when delivered at the first attempt, each item with its own result", async ({
    player,
    pool,
  }) => {
    const atMs = Math.floor(Date.now() / 1_024) * 1_024;
    const items = Array.from({ length: 12 }, () => player.item(player.targets[0], atMs));
    const deliveries = await player.accept(items, () => true);
    const made = deliveries.map(({ eventId, rowId, leaseToken }, n) => ({
      eventId,
      rowId,
      leaseToken,
      outcome: n === 11 ? (3 as const) : (1 as const),
      delayMs: 0,
      attemptedAtMs: 1_000_000 + n,
      durationMs: 10 + n,
      statusCode: 200 + n,
      error: n === 11 ? "it did not work" : null,
      responseBody: n % 3 === 0 ? Buffer.from(`answer ${n}`) : null,
      headerSet: 0,
    }));
    // Finished in parts and out of order. The last part has one item that was not delivered, and one that came too late.
    expect(await finishDeliveries(pool, [made[4]!, made[0]!, made[2]!])).toEqual([true, true, true]);
    const late = { ...made[1]!, leaseToken: made[1]!.leaseToken + 1 };
    expect(await finishDeliveries(pool, [made[3]!, late, made[5]!])).toEqual([true, false, true]);
    expect(await finishDeliveries(pool, [made[1]!, made[0]!, made[6]!])).toEqual([true, false, true]);
    const rest = [9, 7, 8, 11, 10].map((n) => made[n]!);
    expect(await finishDeliveries(pool, rest)).toEqual([true, true, true, true, true]);
    const { rows } = await pool.query(`select * from ${everyAttempt} order by status_code`);
    expect(rows.map(({ org_id: _org, ...row }) => row)).toEqual(
      made.map((attempt) => ({
        event_id: attempt.eventId,
        target_id: player.targets[0],
        number: 1,
        outcome: attempt.outcome,
        status_code: attempt.statusCode,
        duration_ms: attempt.durationMs,
        attempted_at: attempt.attemptedAtMs,
        error: attempt.error,
        response_body: attempt.responseBody,
      })),
    );
    const together = await pool.query(
      "select cardinality(event_ids) as items from delivered_groups order by items",
    );
    expect(together.rows.map((row) => row.items)).toEqual([2, 3]);
    expect(await storedRows(pool)).toEqual([]);
  });
});
