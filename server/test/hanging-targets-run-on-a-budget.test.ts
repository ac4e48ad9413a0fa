import type pg from "pg";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createPool } from "../src/postgres/pool.ts";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { createWebhookTarget, sendItem } from "./support/items.ts";
import { answerOk, type Receiver, startReceiver } from "./support/receiver.ts";
import { startService, type ServiceProcess } from "./support/serviceProcess.ts";
import { storeDueItems } from "./support/storedItems.ts";
import { type Account, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";

const maxInFlight = 64;
/** Half of all may be under way to targets that are slow, untried or hang; an eighth to those known to hang. */
const unprovenLimit = 32;
const hangingLimit = 8;
const hangingTargets = 100;
const limitMs = 30_000;
let database: TestDatabase;
let pool: pg.Pool;
let service: ServiceProcess;
let receiver: Receiver;
/** Requests to paths that begin with /hang, which are never answered: under way now, and the most at once. */
let open: number;
let most: number;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = createPool({ connection: database.connection, size: 1, onError: () => undefined });
  open = 0;
  most = 0;
  receiver = await startReceiver((received, response) => {
    if (!received.path.startsWith("/hang")) {
      answerOk(received, response);
      return;
    }
    most = Math.max(most, ++open);
    response.on("close", () => open--);
  });
});

afterEach(async () => {
  service.kill("SIGKILL");
  await service.ended;
  await receiver.stop();
  await pool.end();
  await database.drop();
});

async function start(env: Record<string, string> = {}): Promise<void> {
  const storage = { databaseUrl: database.url };
  service = await startService({
    storage,
    env: { POSTRIDER_MAX_IN_FLIGHT: String(maxInFlight), ...env },
  });
}

/** Targets that will never answer, with items that wait for each. */
async function storeHanging(account: Account): Promise<void> {
  for (let n = 0; n < hangingTargets; n++) {
    const { id } = await createWebhookTarget(service, account, `${receiver.url}/hang/${n}`);
    await storeDueItems(pool, { orgId: account.user.org_id, targetId: id, count: 3 });
  }
}

/** New targets of the organization, with items that are all delivered while the others hang. */
async function expectDelivered(account: Account, name: string): Promise<void> {
  const paths = [`/${name}/a`, `/${name}/b`];
  await Promise.all(
    paths.map(async (path) => {
      const { id } = await createWebhookTarget(service, account, receiver.url + path);
      for (let sent = 0; sent < 40; sent++) await sendItem(service, account, id);
      await receiver.arrivals(40, { path, limitMs });
    }),
  );
}

it("so that items of its own and of another organization arrive while none of those requests has ended", async () => {
  // Nothing that hangs ends during the test.
  await start({ POSTRIDER_DELIVERY_TIMEOUT_MS: "60000" });
  const [crowded, other] = [await signUp(service), await signUp(service)];
  await storeHanging(crowded);
  await until(
    () => open,
    (count) => count >= hangingLimit,
    limitMs,
  );
  await expectDelivered(other, "other");
  await expectDelivered(crowded, "own");
  expect(open).toBe(most);
  expect(most).toBeLessThanOrEqual(unprovenLimit);
});

it("also in a process that starts anew, which knows from the database that they failed", async () => {
  await start({ POSTRIDER_DELIVERY_TIMEOUT_MS: "500" });
  const [crowded, other] = [await signUp(service), await signUp(service)];
  await storeHanging(crowded);
  await until(
    async () => {
      const { rows } = await pool.query<{ failing: number }>(
        "select count(failing_since)::integer as failing from targets",
      );
      return rows[0]!.failing;
    },
    (failing) => failing === hangingTargets,
    limitMs,
  );
  service.kill("SIGKILL");
  await service.ended;
  await pool.query("update deliveries set lease_until = null, lease_token = null, due_at = 0");
  await until(
    () => open,
    (count) => count === 0,
  );
  most = 0;
  await start({ POSTRIDER_DELIVERY_TIMEOUT_MS: "60000" });
  await until(
    () => open,
    (count) => count === hangingLimit,
    limitMs,
  );
  await expectDelivered(other, "other");
  await expectDelivered(crowded, "own");
  expect(open).toBe(hangingLimit);
  expect(most).toBe(hangingLimit);
});
