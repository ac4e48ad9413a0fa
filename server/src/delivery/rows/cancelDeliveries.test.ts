import { expect } from "vitest";
import { databaseTest } from "../../../test/support/fixtures.ts";
import { storeDueItems, storeOrganization, storeTarget } from "../../../test/support/storedItems.ts";
import { newId } from "../../postgres/ids.ts";
import { ensurePartitions } from "../../postgres/partitions.ts";
import { cancelOrphans } from "./cancelDeliveries.ts";

const it = databaseTest();

it("what waits for deleted targets is canceled, and nothing else", async ({ pool }) => {
  await ensurePartitions(pool, Date.now());
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
