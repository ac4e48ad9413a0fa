import type pg from "pg";
import { expect } from "vitest";
import { until } from "./until.ts";
import type { Load } from "./load.ts";
import type { Receiver } from "./receiver.ts";
import { everyAttempt } from "./everyAttempt.ts";
import { hotRows } from "./storedItems.ts";

/** Allows several retries: on a busy machine attempts reach their time limit. */
const healLimitMs = 120_000;

/** Inputs of the checks after every fault has healed. */
export interface Afterwards {
  pool: pg.Pool;
  load: Load;
  receiver: Receiver;
}

/**
 * Waits until nothing is due or leased, and compares the senders' answers, the stored data, the charged items and
 * the receivers' requests: promises 1, 2, 3 and 8.
 */
export async function expectNothingLost({ pool, load, receiver }: Afterwards): Promise<void> {
  await until(
    async () => {
      const { waiting, leased } = await hotRows(pool);
      return waiting + leased === 0;
    },
    Boolean,
    healLimitMs,
  );
  expect(load.unexpected).toEqual([]);
  const stored = await storedIds(pool);
  const acknowledged = new Set(load.acknowledged());
  const delivered = new Set(receiver.received.map((one) => one.id));
  expect([...acknowledged.difference(stored)], "acknowledged, and not stored").toEqual([]);
  expect([...stored.difference(delivered)], "stored, and not delivered").toEqual([]);
  expect([...delivered.difference(stored)], "delivered, and not stored").toEqual([]);
  expect(await chargedItems(pool), "items charged").toBe(stored.size);

  // Each idempotency key is one item, and each acknowledged item without a key is a separate one.
  const keyed = load.sent.filter(
    ({ idempotencyKey, id }) => idempotencyKey !== undefined && id !== undefined,
  );
  expect(new Set(keyed.map(({ id }) => id)).size).toBe(keyed.length);
  expect(acknowledged.size).toBe(load.acknowledged().length);
  // Items without an answer may be stored, at most once each: the answer may have been lost after the commit.
  const unanswered = load.sent.filter(({ id }) => id === undefined).length;
  const largest = Math.max(1, ...load.sent.map(({ itemIds }) => itemIds?.length ?? 1));
  expect(stored.size).toBeLessThanOrEqual(acknowledged.size + unanswered * largest);
  await expectPublicationsWhole(pool);
  await expectAttemptsMatch(pool, stored.size);
}

/** A publication has all of its items or none. */
async function expectPublicationsWhole(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ torn: number }>(
    `select count(*) as torn
     from publications p
     full join (
       select publication_id as id, array_agg(id) as event_ids
       from events
       where publication_id is not null
       group by publication_id
     ) e on e.id = p.id
     where p.event_ids is null or not (p.event_ids <@ e.event_ids and p.event_ids @> e.event_ids)`,
  );
  expect(rows).toEqual([{ torn: 0 }]);
}

async function storedIds(pool: pg.Pool): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: string }>("select id from events where billable");
  return new Set(rows.map(({ id }) => id));
}

/** Sum of the usage ledger, folded or not. */
async function chargedItems(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ items: number }>(
    `select (
       (select coalesce(sum(items), 0) from usage_records) + (select coalesce(sum(items), 0) from usage_totals)
     )::bigint as items`,
  );
  return rows[0]!.items;
}

/**
 * Expects that each stored item has exactly one recorded attempt that delivered it, and that its attempts are
 * numbered from 1.
 */
async function expectAttemptsMatch(pool: pg.Pool, stored: number): Promise<void> {
  const { rows } = await pool.query<{ delivered: number; items: number; misnumbered: number }>(
    `select
       (select count(*) from ${everyAttempt} where outcome = 1) as delivered,
       (select count(distinct event_id) from ${everyAttempt} where outcome = 1) as items,
       (
         select count(*)
         from (
           select event_id
           from ${everyAttempt}
           group by event_id
           having count(*) <> max(number) or count(distinct number) <> count(*)
         ) wrong
       ) as misnumbered`,
  );
  expect(rows[0]).toEqual({ delivered: stored, items: stored, misnumbered: 0 });
}
