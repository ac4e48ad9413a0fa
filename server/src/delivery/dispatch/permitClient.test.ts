import { expect, onTestFinished } from "vitest";
import { databaseTest } from "../../../test/support/fixtures.ts";
import { countLockWaits, holdRows } from "../../../test/support/heldLocks.ts";
import { storeOrganization, storeTarget } from "../../../test/support/storedItems.ts";
import { until } from "../../../test/support/until.ts";
import type { Delivery } from "../../items/delivery.ts";
import { newId } from "../../postgres/ids.ts";
import type { TargetConfig } from "../../targets/record/targetConfig.ts";
import { createLog } from "../../telemetry/log.ts";
import { Admission } from "./admission.ts";
import { DeliveryBuffer } from "./buffer.ts";
import { Lane } from "./lane.ts";
import { PermitClient } from "./permitClient.ts";
import { ReadyQueue } from "./readyQueue.ts";

const it = databaseTest({ poolSize: 4 });

const delivery = { payload: Buffer.from("{}") } as Delivery;
const maxConcurrency = 4;

it("a node stops using the returned part of its share at once, even if the call takes long", async ({
  pool,
}) => {
  const orgId = await storeOrganization(pool);
  const targetId = await storeTarget(pool, orgId, { max_concurrency: maxConcurrency });
  const admission = new Admission(512);
  const ready = new ReadyQueue(admission);
  const shared = { admission, buffer: new DeliveryBuffer(), ready, targetConcurrency: 32, promptMs: 1_000 };
  const lane = new Lane(targetId, "prompt", shared);
  lane.configure({ orgId, perSecond: null, maxConcurrency, failingSince: null } as TargetConfig);
  const permits = new PermitClient({
    pool,
    log: createLog("silent"),
    nodeId: newId(0, Date.now()),
    timeoutMs: 1_000,
    ready: () => undefined,
    refused: () => undefined,
  });
  onTestFinished(() => permits.stop());
  const isReady = () => lane.isReady(performance.now());

  for (let n = 0; n < maxConcurrency; n++) lane.put(delivery);
  permits.want(lane);
  await until(isReady, Boolean);
  expect(lane.takeAll()).toHaveLength(maxConcurrency);

  const letGo = await holdRows(pool, "target_paces", { target_id: targetId });
  onTestFinished(letGo);
  permits.trim(lane);
  await until(
    () => countLockWaits(pool),
    (waits) => waits === 1,
  );
  // By now, the database may have given the share to another node, whose response takes as long.
  lane.put(delivery);
  expect(isReady()).toBe(false);
  await letGo();
  await until(() => {
    permits.want(lane);
    return isReady();
  }, Boolean);
});
