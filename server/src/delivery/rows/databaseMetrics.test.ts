import { Registry } from "prom-client";
import { expect } from "vitest";
import { databaseTest } from "../../../test/support/fixtures.ts";
import { storeDueItems, storeOrganization, storeTarget } from "../../../test/support/storedItems.ts";
import { bucketOf, newId } from "../../postgres/ids.ts";
import { ensurePartitions } from "../../postgres/partitions.ts";
import { registerDatabaseMetrics } from "./databaseMetrics.ts";

const it = databaseTest();

it("the oldest due delivery is not one of a target whose circuit is open", async ({ pool }) => {
  await ensurePartitions(pool, Date.now());
  const orgId = await storeOrganization(pool);
  const targetId = await storeTarget(pool, orgId);
  await storeDueItems(pool, { orgId, targetId, count: 3 });
  await pool.query("update deliveries set due_at = due_at - 3600000");
  const oldest = async (): Promise<number> => {
    const registry = new Registry();
    registerDatabaseMetrics(registry, pool);
    return Number(/^postrider_oldest_due_seconds (.+)$/m.exec(await registry.metrics())![1]);
  };
  expect(await oldest()).toBeGreaterThanOrEqual(3600);
  await pool.query(
    "insert into open_circuits (bucket, target_id, node_id, open_until) values ($1, $2, $3, $4)",
    [bucketOf(targetId), targetId, newId(0, Date.now()), Date.now()],
  );
  expect(await oldest()).toBe(0);
  // The node has died since.
  await pool.query("update open_circuits set open_until = open_until - 120000");
  expect(await oldest()).toBeGreaterThanOrEqual(3600);
});
