import { describe, expect, it, type TestContext } from "vitest";
import type pg from "pg";
import { createPool } from "../src/postgres/pool.ts";
import { createTestDatabase } from "./support/database.ts";
import { until } from "./support/until.ts";
import { createWebhookTarget, readEvent, sendItem, sendItems, type WebhookTarget } from "./support/items.ts";
import { answerOk, type Receiver, startReceiver } from "./support/receiver.ts";
import { startService, type ServiceProcess } from "./support/serviceProcess.ts";
import { hotRows } from "./support/storedItems.ts";
import { type Account, signUp } from "./support/testNode.ts";

/** Leases outlive an attempt by 10 s; with the default 15 s a dead node's items are taken over within 30 s. */
const attemptMs = 4_000;
const takeoverLimitMs = 30_000;

interface Stage {
  pool: pg.Pool;
  receiver: Receiver;
  node: ServiceProcess;
  other: ServiceProcess;
  account: Account;
  target: WebhookTarget;
}

async function setStage({ onTestFinished }: TestContext): Promise<Stage> {
  const database = await createTestDatabase();
  const pool = createPool({ connection: database.connection, size: 1, onError: () => undefined });
  const receiver = await startReceiver();
  const start = (): Promise<ServiceProcess> =>
    startService({
      storage: { databaseUrl: database.url },
      env: { POSTRIDER_DELIVERY_TIMEOUT_MS: String(attemptMs), LOG_LEVEL: "info" },
    });
  const [node, other] = await Promise.all([start(), start()]);
  onTestFinished(async () => {
    for (const one of [node, other]) {
      one.kill("SIGKILL");
      await one.ended;
    }
    await receiver.stop();
    await pool.end();
    await database.drop();
  });
  const account = await signUp(node);
  // What the other node tries while the receiver hangs is not to wait for long.
  const target = await createWebhookTarget(node, account, receiver.url, { retry_interval_seconds: 1 });
  return { pool, receiver, node, other, account, target };
}

describe.concurrent("what a node holds", () => {
  it("is delivered by another within 30 s when it is killed: under way, in memory, in a batch", async (context) => {
    const { pool, receiver, node, account, target } = await setStage(context);
    receiver.answer = () => undefined;
    const ids = await sendItems(node, account, target.id, 60);
    await receiver.arrivals(1);
    expect((await hotRows(pool)).leased).toBeGreaterThan(0);
    node.kill("SIGKILL");
    const killedAtMs = Date.now();
    receiver.answer = answerOk;
    await until(
      async () => {
        const { waiting, leased } = await hotRows(pool);
        return waiting + leased === 0;
      },
      Boolean,
      2 * takeoverLimitMs,
    );
    expect(Date.now() - killedAtMs).toBeLessThan(takeoverLimitMs);
    expect(new Set(receiver.received.map((one) => one.id))).toEqual(new Set(ids));
  });

  it("is another's when it was frozen past its leases: it finishes late, and changes nothing", async (context) => {
    const { receiver, node, other, account, target } = await setStage(context);
    const held: (() => void)[] = [];
    receiver.answer = (received, response) => void held.push(() => answerOk(received, response));
    const id = await sendItem(node, account, target.id);
    await receiver.arrivals(1);
    node.kill("SIGSTOP");
    await receiver.arrivals(2, { limitMs: takeoverLimitMs });
    // The other has it now, and waits for its answer; the first wakes up to find that it timed out.
    node.kill("SIGCONT");
    await until(() => /"outcome":"stale"/.test(node.output()), Boolean, 5_000);
    held[1]!();
    await until(
      async () => {
        return (await readEvent(other, account, id)).event.status === "DELIVERED";
      },
      Boolean,
      10_000,
    );
    const { event, delivery_attempts: attempts } = await readEvent(other, account, id);
    expect(event.retry_count).toBe(0);
    expect(attempts).toMatchObject([{ status_code: 200, error: null }]);
    expect(receiver.received.map((one) => one.id)).toEqual([id, id]);
  });
});
