import { afterAll, beforeAll, expect, it } from "vitest";
import type pg from "pg";
import { createTestDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { newId } from "../../postgres/ids.ts";
import { createPool } from "../../postgres/pool.ts";
import { type PermitGrant, type PermitWish, returnShares, sweepPermits, takePermits } from "./permits.ts";
import { storeOrganization, storeTarget } from "../../../test/support/storedItems.ts";

let database: TestDatabase;
let pool: pg.Pool;
const orgId = newId(0, Date.now());
const [one, other] = [newId(0, Date.now()), newId(0, Date.now())];

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({ connection: database.connection, size: 4, onError: () => undefined });
  await storeOrganization(pool, orgId);
});

afterAll(async () => {
  await pool.end();
  await database.drop();
});

interface Limits {
  perSecond?: number;
  burst?: number;
  maxConcurrency?: number;
}

async function makeTarget({ perSecond, burst, maxConcurrency }: Limits): Promise<string> {
  const id = newId(3, Date.now());
  await storeTarget(pool, orgId, {
    id,
    rate_limit_per_second: perSecond,
    rate_limit_burst: burst,
    max_concurrency: maxConcurrency,
  });
  return id;
}

function take(nodeId: string, wishes: readonly PermitWish[], leaseMs = 60_000): Promise<PermitGrant[]> {
  return takePermits(pool, { nodeId, wishes, aheadMs: 250, leaseMs });
}

async function sharesOf(targetId: string): Promise<number> {
  const { rows } = await pool.query(
    "select sum(requests)::integer as sum from target_shares where target_id = $1",
    [targetId],
  );
  return rows[0].sum ?? 0;
}

it("gives a burst, then permits at the rate up to the requested time ahead, and then the time of the next permit", async () => {
  // One permit in ten seconds: no call here takes that long.
  const targetId = await makeTarget({ perSecond: 0.1, burst: 4 });
  const wish = { targetId, permits: 10, requests: 0 };
  const [first] = await take(one, [wish]);
  expect(first).toMatchObject({ targetId, permits: 4, burst: 4, intervalMs: 10_000, requests: null });
  expect(first!.firstInMs).toBeCloseTo(-30_000, -1);
  const [second] = await take(other, [wish]);
  expect(second!.permits).toBe(0);
  expect(second!.firstInMs).toBeGreaterThan(250);
  expect(second!.firstInMs).toBeLessThanOrEqual(10_000);
});

it("never gives two nodes permits for the same time", async () => {
  const targetId = await makeTarget({ perSecond: 40 });
  const startedAtMs = Date.now();
  const grants = await Promise.all(
    Array.from({ length: 30 }, (_, index) =>
      take(index % 2 === 0 ? one : other, [{ targetId, permits: 3, requests: 0 }]),
    ),
  );
  const elapsedMs = Date.now() - startedAtMs;
  const given = grants.flat().reduce((sum, { permits }) => sum + permits, 0);
  // Permits for a tenth of a second at once, then one per 25 ms up to 250 ms ahead.
  expect(given).toBeGreaterThanOrEqual(4 + 10);
  expect(given).toBeLessThanOrEqual(4 + Math.floor((elapsedMs + 250) / 25) + 1);
});

it("applies a higher rate at once", async () => {
  const targetId = await makeTarget({ perSecond: 0.001 });
  const wish = { targetId, permits: 1, requests: 0 };
  await take(one, [wish]);
  expect((await take(one, [wish]))[0]!.firstInMs).toBeGreaterThan(100_000);
  await pool.query("update targets set rate_limit_per_second = 1000 where id = $1", [targetId]);
  expect((await take(one, [wish]))[0]).toMatchObject({ permits: 1, firstInMs: 0 });
});

it("gives permits after the database's clock was set back", async () => {
  const targetId = await makeTarget({ perSecond: 0.1 });
  const wish = { targetId, permits: 1, requests: 0 };
  await take(one, [wish]);
  await pool.query("update target_paces set next_at = next_at + 3600000000 where target_id = $1", [targetId]);
  expect((await take(one, [wish]))[0]).toMatchObject({ permits: 1, firstInMs: 0 });
  expect((await take(one, [wish]))[0]).toMatchObject({ permits: 0 });
});

it("divides the requests in flight, never above the limit, until shares are returned or lapse", async () => {
  const targetId = await makeTarget({ maxConcurrency: 5 });
  const wish = (requests: number): PermitWish[] => [{ targetId, permits: 0, requests }];
  expect((await take(one, wish(3)))[0]).toMatchObject({ requests: 3, intervalMs: null });
  expect((await take(other, wish(9)))[0]!.requests).toBe(2);
  expect((await take(one, wish(9)))[0]!.requests).toBe(3);
  expect((await take(one, wish(0)))[0]!.requests).toBe(0);
  expect((await take(other, wish(9), -1))[0]!.requests).toBe(5);
  // The other node's share has lapsed.
  expect((await take(one, wish(9)))[0]!.requests).toBe(5);
  await returnShares(pool, one);
  expect(await sharesOf(targetId)).toBe(5);
  await sweepPermits(pool);
  expect(await sharesOf(targetId)).toBe(0);
});

it("gives a node without a share no permits", async () => {
  const targetId = await makeTarget({ perSecond: 10, burst: 10, maxConcurrency: 1 });
  const wish = [{ targetId, permits: 2, requests: 1 }];
  expect((await take(one, wish))[0]).toMatchObject({ permits: 2, requests: 1 });
  expect((await take(other, wish))[0]).toMatchObject({ permits: 0, requests: 0 });
});

it("ignores deleted targets and removes their rows", async () => {
  const [gone, limited] = [await makeTarget({ perSecond: 1 }), await makeTarget({ perSecond: 1 })];
  const wishes = [gone, limited].map((targetId) => ({ targetId, permits: 1, requests: 0 }));
  expect(await take(one, wishes)).toHaveLength(2);
  await pool.query("delete from targets where id = $1", [gone]);
  expect(await take(one, wishes)).toHaveLength(1);
  await sweepPermits(pool);
  const { rows } = await pool.query("select target_id from target_paces where target_id = any ($1)", [
    [gone, limited],
  ]);
  expect(rows).toEqual([{ target_id: limited }]);
});
