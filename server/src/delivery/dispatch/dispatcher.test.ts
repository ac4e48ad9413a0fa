import { Registry } from "prom-client";
import { expect, onTestFinished } from "vitest";
import { storeDueItems, storeOrganization, storeTarget } from "../../../test/support/storedItems.ts";
import { until } from "../../../test/support/until.ts";
import { loadConfig } from "../../config/config.ts";
import { newId } from "../../postgres/ids.ts";
import { ensurePartitions } from "../../postgres/partitions.ts";
import { parseNetworks } from "../../outbound/addressGuard.ts";
import { createOutbound } from "../../outbound/outbound.ts";
import { noChanges } from "../../items/changes.ts";
import { createSecretBox } from "../../items/secretBox.ts";
import { createDeliveryMetrics } from "../../telemetry/deliveryMetrics.ts";
import { createLog } from "../../telemetry/log.ts";
import { createDelivery, type DeliveryDeps } from "./createDelivery.ts";
import type { AttemptResult, Delivery } from "../../items/delivery.ts";
import { everyAttempt } from "../../../test/support/everyAttempt.ts";
import { Dispatcher } from "./dispatcher.ts";
import { createAttemptRecorder } from "../attempt/recordAttempts.ts";
import { createAttemptReport } from "../attempt/reportAttempt.ts";
import { createFinisher } from "../attempt/finishAttempt.ts";
import type { TargetConfig } from "../../targets/targetConfig.ts";
import { file, databaseTest } from "../../../test/support/fixtures.ts";

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
  /** A target with five due items; nobody can open its signing secret. */
  .extend("makeTarget", file, ({ pool }) => async (bucket: number, kind: 1 | 3): Promise<string> => {
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
      (sendHandoff: DeliveryDeps["sendHandoff"]): Dispatcher =>
        createDelivery({
          config: loadConfig({ LOG_LEVEL: "silent" }),
          pool,
          box: createSecretBox({ current: Buffer.alloc(32, 7) }),
          outbound,
          log: createLog("silent"),
          changes: noChanges,
          registry: new Registry(),
          nowMs: Date.now,
          sendHandoff,
        }),
  );

it.beforeAll(async ({ pool }) => {
  await ensurePartitions(pool, Date.now());
  await storeOrganization(pool, orgId);
});

const taken: AttemptResult = {
  verdict: { outcome: "delivered" },
  statusCode: 200,
  durationMs: 1,
  responseBody: null,
  retryAfter: null,
};

it("whatever a sender throws, at once or later, is one failed attempt, and the others' go on", async ({
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

it("what is lent counts among the requests that may be under way in all", async ({ makeTarget, pool }) => {
  const targets = await Promise.all([5, 6, 7, 8, 9].map((bucket) => makeTarget(bucket, 3)));
  const log = createLog("silent");
  const gauges = { inFlight: () => 0, inFlightUnproven: () => 0, inMemory: () => 0, openCircuits: () => 0 };
  const metrics = createDeliveryMetrics(new Registry(), gauges);
  const recorder = createAttemptRecorder(pool, log, createAttemptReport(metrics, log, noChanges));
  let lent = 38;
  const ends: (() => void)[] = [];
  const hold = (_delivery: Delivery, _target: TargetConfig, ended: (result: AttemptResult) => void): void =>
    void ends.push(() => ended(taken));
  const dispatcher = new Dispatcher({
    pool,
    box: createSecretBox({ current: Buffer.alloc(32, 7) }),
    log,
    metrics,
    recorder,
    finisher: createFinisher({
      pool,
      log,
      recorder,
      changes: noChanges,
      nowMs: Date.now,
      random: Math.random,
    }),
    senders: { 1: hold, 3: hold },
    enabled: true,
    timeoutMs: 15_000,
    targetConcurrency: 1,
    maxInFlight: 40,
    nodeId: newId(0, Date.now()),
    newToken: () => 1,
    lending: {
      requests: () => lent,
      isLent: () => false,
      offer: () => undefined,
      ended: () => undefined,
    },
  });
  onTestFinished(async () => {
    lent = 0;
    const letGo = setInterval(() => ends.splice(0).forEach((end) => end()), 5);
    await dispatcher.stop();
    clearInterval(letGo);
  });
  dispatcher.start();
  // All are in memory, and each target might have one request under way.
  await until(
    () => dispatcher.inMemory() + dispatcher.inFlight(),
    (count) => count === targets.length * 5,
  );
  await until(
    () => dispatcher.inFlight(),
    (count) => count >= 2,
  );
  expect(ends).toHaveLength(2);
  lent = 36;
  for (const end of ends.splice(0)) end();
  expect(ends).toHaveLength(4);
});
