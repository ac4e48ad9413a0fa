import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type pg from "pg";
import { createTestDatabase, type TestDatabase } from "../../test/support/database.ts";
import { storeDueItems } from "../../test/support/storedItems.ts";
import { until } from "../../test/support/until.ts";
import { loadConfig } from "../config.ts";
import { newId } from "../db/ids.ts";
import { ensurePartitions } from "../db/partitions.ts";
import { createPool } from "../db/pool.ts";
import { parseNetworks } from "../net/addressGuard.ts";
import { createOutbound, type Outbound } from "../net/outbound.ts";
import { createSecretBox } from "../targets/secretBox.ts";
import { createLog } from "../telemetry/log.ts";
import { createDelivery, type DeliveryDeps } from "./createDelivery.ts";
import type { AttemptResult } from "./delivery.ts";
import { everyAttempt } from "../../test/support/everyAttempt.ts";
import type { Dispatcher } from "./dispatcher.ts";

let database: TestDatabase;
let pool: pg.Pool;
let outbound: Outbound;
const orgId = newId(0, Date.now());

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({ connection: database.connection, size: 4, onError: () => undefined });
  outbound = createOutbound({ allowHttp: true, networks: parseNetworks(""), userAgent: "Postrider/test" });
  await ensurePartitions(pool, Date.now());
  await pool.query("insert into organizations values ($1, 'o', 'o', 'active', null, 0)", [orgId]);
});

afterAll(async () => {
  outbound.close();
  await pool.end();
  await database.drop();
});

/** A target with five due items; nobody can open its signing secret. */
async function makeTarget(bucket: number, kind: 1 | 3): Promise<string> {
  const id = newId(bucket, Date.now());
  await pool.query(
    `insert into targets (id, org_id, kind, name, url, secret, created_at, updated_at)
     values ($1, $2, 'webhook', 't', 'https://example.com/', '\\x00', 0, 0)`,
    [id, orgId],
  );
  await storeDueItems(pool, { orgId, targetId: id, count: 5 });
  await pool.query("update deliveries set kind = $2 where target_id = $1", [id, kind]);
  return id;
}

function dispatcherWith(sendHandoff: DeliveryDeps["sendHandoff"]): Dispatcher {
  return createDelivery({
    config: loadConfig({ LOG_LEVEL: "silent" }),
    pool,
    box: createSecretBox({ current: Buffer.alloc(32, 7) }),
    outbound,
    log: createLog("silent"),
    registry: new Registry(),
    nowMs: Date.now,
    sendHandoff,
  });
}

const taken: AttemptResult = {
  verdict: { outcome: "delivered" },
  statusCode: 200,
  durationMs: 1,
  responseBody: null,
  retryAfter: null,
};

test("whatever a sender throws, at once or later, is one failed attempt, and the others' go on", async () => {
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
