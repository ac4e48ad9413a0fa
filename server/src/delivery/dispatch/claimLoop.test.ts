import { expect } from "vitest";
import { Registry } from "prom-client";
import { bucketOf, newId } from "../../postgres/ids.ts";
import { ensurePartitions } from "../../postgres/partitions.ts";
import { createDeliveryMetrics } from "../../telemetry/deliveryMetrics.ts";
import { neverQuiet } from "../../runtime/quiet.ts";
import { createLog } from "../../telemetry/log.ts";
import { ClaimLoop } from "./claimLoop.ts";
import { file, databaseTest } from "../../../test/support/fixtures.ts";
import { storeOrganization, storeTarget } from "../../../test/support/storedItems.ts";

const it = databaseTest()
  /** Creates a target with a backlog of due items, each in its own row. */
  .extend("makeBacklog", file, ({ pool }) => async (): Promise<string> => {
    const org = newId(0, Date.now());
    const target = newId(7, Date.now());
    await storeOrganization(pool, org);
    await storeTarget(pool, org, { id: target });
    await pool.query(
      `with made as (
       insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, payload)
       select $1, 1, 8, true, $2, id, $3, '{}'
       from unnest($4::uuid[]) as id
       returning id
     )
     insert into deliveries (bucket, kind, id, target_id, org_id, due_at, event_ids)
     select $1, 1, id, $2, $3, 1, array[id]
     from made`,
      [bucketOf(target), target, org, Array.from({ length: stored }, () => newId(7, Date.now()))],
    );
    return target;
  });

it.beforeAll(async ({ pool }) => {
  await ensurePartitions(pool, Date.now());
});

const stored = 600;
/** How many deliveries a claim takes of a target that is alone. */
const share = 512;

it("a claim that filled its target is repeated only when there is room, and then brings the rest", async ({
  makeBacklog,
  pool,
}) => {
  const target = await makeBacklog();
  let asked = 0;
  let isFull = false;
  const takes = Array.from({ length: 2 }, () => Promise.withResolvers<number>());
  const pending = [...takes];
  const gauges = { inFlight: () => 0, inFlightUnproven: () => 0, inMemory: () => 0, openCircuits: () => 0 };
  const loop = new ClaimLoop({
    pool,
    log: createLog("silent"),
    metrics: createDeliveryMetrics(new Registry(), gauges),
    quiet: neverQuiet,
    newLease: () => ({ token: 1, durationMs: 60_000 }),
    room: () => {
      asked++;
      return { deliveries: 8_192, bytes: 2 ** 27, unproven: 1_024 };
    },
    fullTargets: () => (isFull ? [target] : []),
    targetsEnding: () => [target],
    choose: () => ({ proven: [], unproven: [], lookedAt: 0 }),
    take(deliveries) {
      isFull = true;
      pending.shift()?.resolve(deliveries.length);
    },
  });
  loop.start();
  expect(await takes[0]!.promise).toBe(share);
  // By now, a loop that did not pause would have made the next claim.
  await new Promise(setImmediate);
  expect(asked).toBe(1);
  expect(loop.wantsRoom(target)).toBe(true);
  expect(loop.wantsRoom(newId(9, 0))).toBe(false);
  isFull = false;
  loop.roomAppeared(target);
  expect(await takes[1]!.promise).toBe(stored - share);
  await loop.stop();
});
