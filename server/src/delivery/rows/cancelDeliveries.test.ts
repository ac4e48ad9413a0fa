import { expect } from "vitest";
import { newId } from "../../postgres/ids.ts";
import { dayMs, ensurePartitions } from "../../postgres/partitions.ts";
import { cancelExpired, cancelOrphans } from "./cancelDeliveries.ts";
import { file, databaseTest } from "../../../test/support/fixtures.ts";
import { storeDueItems, storeOrganization, storeTarget } from "../../../test/support/storedItems.ts";

const target = newId(7, Date.now());
/** Noon, so that no item is dropped together with its day's partition. */
const noonMs = Math.floor(Date.now() / dayMs) * dayMs + dayMs / 2;
const retention = { retentionDays: 30, nowMs: noonMs + 30 * dayMs };

const it = databaseTest()
  /**
   * Stores a row of waiting items, accepted one millisecond apart from `atMs` on. The row's id is that of a single item; for
   * several items it is an id of a much later time.
   */
  .extend(
    "storeWaiting",
    file,
    ({ pool }) =>
      async (atMs: number, count: number, isLeased = false): Promise<string[]> => {
        const ids = Array.from({ length: count }, (_, n) => newId(7, atMs + n));
        await pool.query(
          `insert into deliveries (bucket, kind, id, target_id, org_id, due_at, event_ids, lease_until, lease_token)
     values (7, 1, $1, $2, $2, $3, $4, $5, $6)`,
          [
            count === 1 ? ids[0] : newId(7, Date.now() + 60 * dayMs),
            target,
            atMs,
            ids,
            isLeased ? 1 : null,
            isLeased ? 1 : null,
          ],
        );
        return ids;
      },
  )
  .extend("column", file, ({ pool }) => async (text: string): Promise<string[]> => {
    const { rows } = await pool.query<{ id: string }>(`select id from (${text}) as found (id) order by id`);
    return rows.map((row) => row.id);
  });

it.beforeAll(async ({ pool }) => {
  await ensurePartitions(pool, noonMs);
});

it("items that wait past their retention are CANCELED; leased and younger items stay due", async ({
  storeWaiting,
  pool,
  column,
}) => {
  const old = [...(await storeWaiting(noonMs - 5_000, 3)), ...(await storeWaiting(noonMs - 2_000, 1))];
  const tried = "update deliveries set attempts = 2, due_at = $2 where id = $1";
  await pool.query(tried, [old.at(-1), noonMs + 20 * dayMs]);
  const inFlight = await storeWaiting(noonMs - 1_000, 1, true);
  // The row's last item is not old enough yet.
  const border = await storeWaiting(noonMs - 2, 4);
  const young = await storeWaiting(noonMs + 1_000, 1);
  const ofDroppedDay = await storeWaiting(noonMs - dayMs, 1);
  expect(await cancelExpired(pool, retention)).toBe(4);
  expect(await column("select event_id from settlements where status = 'CANCELED'")).toEqual(old.sort());
  const left = [inFlight, border, young, ofDroppedDay].flat().sort();
  expect(await column("select unnest(event_ids) from deliveries")).toEqual(left);
  expect(await cancelExpired(pool, retention)).toBe(0);
});

it("more items than one statement takes are canceled too", async ({ pool }) => {
  await pool.query("truncate deliveries");
  await pool.query(
    `insert into deliveries (bucket, kind, id, target_id, org_id, due_at, event_ids)
     select 7, 1, id, $1, $1, 0, array[id]
     from unnest($2::uuid[]) as i (id)`,
    [target, Array.from({ length: 2_500 }, (_, n) => newId(7, noonMs - 60_000 + n))],
  );
  expect(await cancelExpired(pool, retention)).toBe(2_500);
});

it("only items of deleted targets are canceled", async ({ pool }) => {
  await pool.query("truncate deliveries");
  const orgId = await storeOrganization(pool);
  const ids = [1, 7, 200].map((bucket) => newId(bucket, Date.now()));
  for (const id of ids) {
    await storeTarget(pool, orgId, { id });
    await storeDueItems(pool, { orgId, targetId: id, count: 3 });
  }
  expect(await cancelOrphans(pool)).toBe(0);
  await pool.query("delete from targets where id = any ($1)", [[ids[0], ids[2]]]);
  expect(await cancelOrphans(pool)).toBe(6);
  expect(await cancelOrphans(pool)).toBe(0);
  const { rows } = await pool.query("select target_id from deliveries group by target_id");
  expect(rows).toEqual([{ target_id: ids[1] }]);
});
