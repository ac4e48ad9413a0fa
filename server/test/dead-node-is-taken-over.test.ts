import { describe, expect } from "vitest";
import { until } from "./support/until.ts";
import { createWebhookTarget, readEvent, sendItem, sendItems } from "./support/items.ts";
import { answerOk } from "./support/receiver.ts";
import { hotRows, longestLeaseMs, untilNothingIsDue } from "./support/storedItems.ts";
import { stagedTest } from "./support/fixtures.ts";

/** Leases outlive an attempt by 10 s. */
const attemptMs = 4_000;
const leaseMs = attemptMs + 10_000;
const takeoverLimitMs = 60_000;

const it = stagedTest({
  POSTRIDER_DELIVERY_TIMEOUT_MS: String(attemptMs),
  LOG_LEVEL: "info",
  POSTRIDER_LOG_REQUESTS: "true",
})
  .extend("other", ({ again }) => again())
  // A short retry interval: items that the other node tried while the receiver hung must not wait long.
  .extend("target", ({ service, account, receiver }) =>
    createWebhookTarget(service, account, receiver.url, { retry_interval_seconds: 1 }),
  );

describe.concurrent("an item that a node holds", () => {
  it("is delivered by another node when its node is killed and its lease has ended: in progress, in memory or in a batch", async ({
    pool,
    receiver,
    service: node,
    other: _other,
    account,
    target,
  }) => {
    receiver.answer = () => undefined;
    const ids = await sendItems(node, account, target.id, 60);
    await receiver.arrivals(1);
    expect((await hotRows(pool)).leased).toBeGreaterThan(0);
    node.kill("SIGKILL");
    // All leases of the killed node end within this time.
    expect(await longestLeaseMs(pool)).toBeLessThanOrEqual(leaseMs);
    receiver.answer = answerOk;
    await untilNothingIsDue(pool, takeoverLimitMs);
    expect(new Set(receiver.received.map((one) => one.id))).toEqual(new Set(ids));
  });

  it("belongs to another node once its node was frozen past the lease; the frozen node finishes late and changes nothing", async ({
    receiver,
    service: node,
    start,
    account,
    target,
  }) => {
    // The attempt lasts until it is answered, however long the first node takes to wake up.
    const other = await start({ POSTRIDER_DELIVERY_TIMEOUT_MS: "60000" });
    const held: (() => void)[] = [];
    receiver.answer = (received, response) => void held.push(() => answerOk(received, response));
    const id = await sendItem(node, account, target.id);
    await receiver.arrivals(1);
    node.kill("SIGSTOP");
    await receiver.arrivals(2, { limitMs: takeoverLimitMs });
    // The other node now has the item and waits for the answer; the first node wakes up and finds its attempt
    // timed out.
    node.kill("SIGCONT");
    await until(() => /"outcome":"stale"/.test(node.output()));
    held[1]!();
    await until(async () => {
      return (await readEvent(other, account, id)).event.status === "DELIVERED";
    });
    const { event, delivery_attempts: attempts } = await readEvent(other, account, id);
    expect(event.retry_count).toBe(0);
    expect(attempts).toMatchObject([{ status_code: 200, error: null }]);
    expect(receiver.received.map((one) => one.id)).toEqual([id, id]);
  });
});
