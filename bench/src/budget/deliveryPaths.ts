import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { loadConfig } from "../../../server/src/config/config.ts";
import { Dispatcher } from "../../../server/src/delivery/dispatch/dispatcher.ts";
import {
  type AttemptRecorder,
  createAttemptRecorder,
} from "../../../server/src/delivery/attempt/recordAttempts.ts";
import { createAttemptReport } from "../../../server/src/delivery/attempt/reportAttempt.ts";
import { createOpenCircuits } from "../../../server/src/delivery/rows/openCircuits.ts";
import { claimDeliveries, finishDeliveries, firstCursor } from "../../../server/src/delivery/rows/store.ts";
import { attemptOf } from "../../../server/test/support/directItems.ts";
import { noChanges } from "../../../server/test/support/idleSink.ts";
import { createSecretBox, sealSigningSecret, type SecretBox } from "../../../server/src/items/secretBox.ts";
import { signingSecretOf } from "../../../server/src/items/signature.ts";
import { foldUsage } from "../../../server/src/billing/foldUsage.ts";
import { foldActivity } from "../../../server/src/stats/foldActivity.ts";
import { parseNetworks } from "../../../server/src/outbound/addressGuard.ts";
import { createOutbound } from "../../../server/src/outbound/outbound.ts";
import { neverQuiet } from "../../../server/src/runtime/quiet.ts";
import { createSenders } from "../../../server/src/targets/kinds.ts";
import { createDeliveryMetrics } from "../../../server/src/telemetry/deliveryMetrics.ts";
import { createLog } from "../../../server/src/telemetry/log.ts";
import { acceptAll, batchItems, intakeOf, sinkOf } from "./acceptancePaths.ts";
import type { Path } from "./path.ts";
import type { World } from "./world.ts";

const origin = "https://receiver.invalid";
/** Number of batches that `foldActivity` and `foldUsage` sum up in one round. */
const foldedBatches = 4;

/** Paths that deliver items to webhooks, and the folding of their statistics. No item is due before or after a round. */
export async function deliveryPaths(world: World): Promise<Path[]> {
  const { pool } = world;
  const box = createSecretBox({ current: Buffer.alloc(32, 7) });
  const { dispatcher, recorder } = dispatcherOf(world, box);
  const intake = intakeOf(
    world,
    sinkOf({
      hasRoom: () => true,
      newLease: () => dispatcher.newLease(),
      take: (item, leased) => dispatcher.take(item, leased),
    }),
  );
  const sent = await newWebhook(world, box, "sent");
  const deliver = async (): Promise<void> => {
    await acceptAll(intake, world.batch(sent, batchItems), "leased");
    // Only the first round waits here, and a round in which the process paused so long that the target is read again.
    while (dispatcher.inMemory() + dispatcher.inFlight() > 0)
      await new Promise((resolve) => setImmediate(resolve));
    await recorder.drained();
  };
  const stored = await newWebhook(world, box, "stored");
  const storing = intakeOf(world, sinkOf());
  const store = (): Promise<void> => acceptAll(storing, world.batch(stored, batchItems), "due");
  return [
    { name: "accept and deliver from memory", items: batchItems, run: deliver },
    {
      name: "claim and deliver",
      items: batchItems,
      prepare: store,
      run: () => attemptDue(world, stored, 1),
    },
    {
      name: "fail once and deliver",
      items: batchItems,
      prepare: store,
      async run() {
        await attemptDue(world, stored, 2);
        await attemptDue(world, stored, 1);
      },
    },
    {
      name: "fold activity and usage",
      items: foldedBatches * batchItems,
      async prepare() {
        for (let batch = 0; batch < foldedBatches; batch++) await deliver();
      },
      async run() {
        await foldActivity(pool);
        await foldUsage(pool);
      },
    },
  ];
}

/** Claims all due items, and records one attempt of each, with the outcome 1 (delivered) or 2 (retry, due at once). */
async function attemptDue({ pool }: World, targetId: string, outcome: 1 | 2): Promise<void> {
  const { deliveries } = await claimDeliveries(pool, {
    leaseMs: 3_600_000,
    leaseToken: 2,
    cursor: firstCursor,
    skip: [],
    limit: 512,
    perTarget: batchItems,
    few: 1,
    wide: [targetId],
  });
  assert.equal(deliveries.length, batchItems);
  const isStored = await finishDeliveries(
    pool,
    deliveries.map((delivery) => attemptOf(delivery, outcome)),
  );
  assert.ok(isStored.every(Boolean));
}

async function newWebhook(world: World, box: SecretBox, name: string): Promise<string> {
  const id = await world.newTarget(name, { url: `${origin}/items` });
  const secret = sealSigningSecret(box, id, signingSecretOf(Buffer.alloc(32, 1)));
  await world.pool.query("update targets set secret = $2 where id = $1", [id, secret]);
  return id;
}

/** A dispatcher that only gets items from acceptance: it is not started, so that neither its claim loop nor its timers run. */
function dispatcherOf(
  { pool }: World,
  box: SecretBox,
): { dispatcher: Dispatcher; recorder: AttemptRecorder } {
  const config = loadConfig({ LOG_LEVEL: "info" });
  const log = createLog(config.logLevel, {
    destination: { write: () => undefined, flush: () => Promise.resolve() },
  });
  const outbound = createOutbound({
    allowHttp: false,
    networks: parseNetworks(""),
    userAgent: "Postrider",
    local: {
      origin,
      // Answers before any timer can run, so that all attempts of a batch are recorded together.
      receive: (_request, ended) =>
        queueMicrotask(() =>
          ended({
            kind: "response",
            status: 200,
            headers: {},
            body: Buffer.alloc(0),
            truncated: false,
            durationMs: 5,
          }),
        ),
    },
  });
  const metrics = createDeliveryMetrics(new Registry(), {
    inFlight: () => dispatcher.inFlight(),
    inFlightUnproven: () => dispatcher.inFlightUnproven(),
    inMemory: () => dispatcher.inMemory(),
    openCircuits: () => dispatcher.openCircuits(),
  });
  const recorder = createAttemptRecorder(pool, log, createAttemptReport(metrics, log, noChanges));
  let tokens = 0;
  const dispatcher: Dispatcher = new Dispatcher({
    pool,
    control: pool,
    box,
    log,
    metrics,
    recorder,
    changes: noChanges,
    nowMs: Date.now,
    random: () => 0.5,
    quiet: neverQuiet,
    circuits: createOpenCircuits({ pool, log, changes: noChanges, nodeId: "0".repeat(32) }),
    senders: createSenders({
      outbound,
      timeoutMs: config.deliveryTimeoutMs,
      nowMs: Date.now,
      sendHandoff: () => assert.fail("there is no agent"),
    }),
    enabled: true,
    timeoutMs: config.deliveryTimeoutMs,
    targetConcurrency: config.targetConcurrency,
    maxInFlight: config.maxInFlight,
    nodeId: "0".repeat(32),
    newToken: () => ++tokens,
  });
  return { dispatcher, recorder };
}
