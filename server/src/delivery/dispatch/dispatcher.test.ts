import { setTimeout as delay } from "node:timers/promises";
import { Registry } from "prom-client";
import { expect, onTestFinished } from "vitest";
import { storeDueItems, storeOrganization, storeTarget } from "../../../test/support/storedItems.ts";
import { until } from "../../../test/support/until.ts";
import { loadConfig } from "../../config/config.ts";
import { newId } from "../../postgres/ids.ts";
import type { DeliveredKind } from "../../postgres/kinds.ts";
import { ensurePartitions } from "../../postgres/partitions.ts";
import { parseNetworks } from "../../outbound/addressGuard.ts";
import { createOutbound } from "../../outbound/outbound.ts";
import { noChanges } from "../../../test/support/idleSink.ts";
import { createLeaseTokens } from "../../items/item.ts";
import { createSecretBox } from "../../items/secretBox.ts";
import { neverQuiet } from "../../runtime/quiet.ts";
import { createLog } from "../../telemetry/log.ts";
import { createDelivery } from "./createDelivery.ts";
import type { AttemptResult, Delivery } from "../../items/delivery.ts";
import { createSenders } from "../../targets/kinds.ts";
import { everyAttempt } from "../../../test/support/everyAttempt.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { databaseTest, file } from "../../../test/support/fixtures.ts";

const orgId = newId(0, Date.now());

const it = databaseTest({ poolSize: 4 })
  .extend("outbound", file, async ({}, { onCleanup }) => {
    const outbound = createOutbound({
      allowHttp: true,
      networks: parseNetworks(""),
      userAgent: "Postrider/test",
    });
    onCleanup(() => outbound.close());
    return outbound;
  })
  /** A target with five due items, whose signing secret cannot be opened. */
  .extend("makeTarget", file, ({ pool }) => async (bucket: number, kind: DeliveredKind): Promise<string> => {
    const id = newId(bucket, Date.now());
    await storeTarget(pool, orgId, { id: id });
    await storeDueItems(pool, { orgId, targetId: id, count: 5 });
    await pool.query("update deliveries set kind = $2 where target_id = $1", [id, kind]);
    return id;
  })
  .extend(
    "dispatcherWith",
    file,
    ({ pool, outbound }) =>
      (sendHandoff: (delivery: Delivery) => Promise<AttemptResult>, direct = pool): Dispatcher =>
        createDelivery({
          config: loadConfig({ LOG_LEVEL: "silent" }),
          pool,
          direct,
          box: createSecretBox({ current: Buffer.alloc(32, 7) }),
          log: createLog("silent"),
          changes: noChanges,
          registry: new Registry(),
          nowMs: Date.now,
          quiet: neverQuiet,
          newToken: createLeaseTokens().next,
          senders: createSenders({ outbound, timeoutMs: 10_000, nowMs: Date.now, sendHandoff }),
        }),
  );

it.beforeAll(async ({ pool }) => {
  await ensurePartitions(pool, Date.now());
  await storeOrganization(pool, orgId);
});

const taken: AttemptResult = {
  outcome: { kind: "delivered" },
  statusCode: 200,
  durationMs: 1,
  responseBody: null,
  retryAfter: null,
};

it("an error that a sender throws, at once or later, is one failed attempt and does not stop other attempts", async ({
  makeTarget,
  dispatcherWith,
  pool,
}) => {
  const throwing = await makeTarget(1, 3);
  const rejecting = await makeTarget(2, 3);
  const taking = await makeTarget(3, 3);
  const unsigned = await makeTarget(4, 1);
  const dispatcher = dispatcherWith((delivery) => {
    if (delivery.targetId === throwing) throw new Error("at once");
    return delivery.targetId === rejecting ? Promise.reject(new Error("later")) : Promise.resolve(taken);
  });
  onTestFinished(() => dispatcher.stop());
  dispatcher.start();
  const made = await until(
    async () => {
      const { rows } = await pool.query<{ target_id: string; error: string | null; count: number }>(
        `select target_id, error, count(*) from ${everyAttempt} group by target_id, error order by target_id`,
      );
      return rows;
    },
    (rows) => rows.reduce((sum, { count }) => sum + count, 0) === 20,
  );
  const failed = { error: "the service could not make the attempt", count: 5 };
  const fault = expect.stringMatching(/^the signing secret cannot be opened/);
  expect(new Map(made.map(({ target_id, ...rest }) => [target_id, rest]))).toEqual(
    new Map([
      [throwing, failed],
      [rejecting, failed],
      [taking, { error: null, count: 5 }],
      [unsigned, { error: fault, count: 5 }],
    ]),
  );
  expect(dispatcher.inFlight()).toBe(0);
  expect(dispatcher.inMemory()).toBe(0);
});

it("sends although the database takes longer to answer than a target's configuration may be old", async ({
  makeTarget,
  dispatcherWith,
  pool,
}) => {
  await makeTarget(5, 3);
  const direct = Object.create(pool) as typeof pool;
  let lookups = 0;
  const query = async (statement: { name?: string }, ...others: unknown[]) => {
    if (statement.name === "load_targets") lookups++;
    await delay(300);
    return (pool.query as (...parameters: unknown[]) => Promise<unknown>).call(pool, statement, ...others);
  };
  Object.assign(direct, { query });
  let sent = 0;
  const dispatcher = dispatcherWith(() => {
    sent++;
    return Promise.resolve(taken);
  }, direct);
  onTestFinished(() => dispatcher.stop());
  dispatcher.start();
  await until(() => sent === 5);
  expect(lookups).toBeLessThan(5);
});
