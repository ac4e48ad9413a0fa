import { expect } from "vitest";
import { createWebhookTarget, sendItem, sendItems } from "./support/items.ts";
import { answerOk } from "./support/receiver.ts";
import { hotRows, storeDueItems, untilNothingIsDue } from "./support/storedItems.ts";
import { until } from "./support/until.ts";
import { stagedTest } from "./support/fixtures.ts";
import { countRows } from "./support/unseenRows.ts";

const it = stagedTest()
  .extend("nodes", async ({ service, again }) => [service, await again()] as const)
  .extend(
    "arrivedAt",
    ({ receiver }) =>
      (path: string) =>
        receiver.at(path),
  )
  /** Sends items, alternating between the nodes. */
  .extend(
    "sendThroughBoth",
    ({ nodes, account }) =>
      async (targetId: string, count: number): Promise<void> => {
        await Promise.all(nodes.map((node) => sendItems(node, account, targetId, count / 2)));
      },
  );

interface Rate {
  perSecond: number;
  burst: number;
}

/**
 * The arrivals that came earlier than the rate allows, counted from `sinceMs`, before which nothing was sent. An
 * attempt begins after its permit and arrives later still, so a slow machine only makes this number smaller. One
 * more arrival is allowed because clocks are read in whole milliseconds.
 */
function tooEarly(arrivedAtMs: readonly number[], sinceMs: number, { perSecond, burst }: Rate): number[] {
  return arrivedAtMs.filter((atMs, before) => before + 1 > burst + 1 + (perSecond * (atMs - sinceMs)) / 1000);
}

it("two nodes together send a target no more than its rate, retries included", async ({
  pool,
  receiver,
  nodes,
  account,
  sendThroughBoth,
  arrivedAt,
}) => {
  const rate = { perSecond: 50, burst: 5 };
  const tried = new Set<string>();
  receiver.answer = (received, response) => {
    // One item in five fails at first.
    const isFirst = !tried.has(received.id);
    tried.add(received.id);
    if (isFirst && tried.size % 5 === 0) response.writeHead(500).end();
    else answerOk(received, response);
  };
  const limited = await createWebhookTarget(nodes[0], account, `${receiver.url}/limited`, {
    rate_limit_per_second: rate.perSecond,
    rate_limit_burst: rate.burst,
    retry_interval_seconds: 1,
  });
  const sinceMs = Date.now();
  await storeDueItems(pool, { orgId: account.user.org_id, targetId: limited.id, count: 300 });
  await sendThroughBoth(limited.id, 100);
  await untilNothingIsDue(pool, 120_000);
  const arrivals = arrivedAt("/limited");
  expect(new Set(arrivals.map(({ id }) => id)).size).toBe(400);
  expect(arrivals.length).toBeGreaterThanOrEqual(480);
  const momentsMs = arrivals.map(({ atMs }) => atMs);
  expect(tooEarly(momentsMs, sinceMs, rate), "arrivals before the rate allows them").toEqual([]);
});

it("items that wait for a rate limit are not kept in memory and delay no other target", async ({
  receiver,
  pool,
  nodes,
  account,
  sendThroughBoth,
  arrivedAt,
}) => {
  const [node] = nodes;
  // The second attempt is due after a quarter of an hour.
  const limited = await createWebhookTarget(node, account, `${receiver.url}/limited`, {
    rate_limit_per_second: 0.001,
  });
  await storeDueItems(pool, { orgId: account.user.org_id, targetId: limited.id, count: 160 });
  await sendThroughBoth(limited.id, 40);
  await receiver.arrivals(1, { path: "/limited" });
  // Nodes release deliveries whose attempt is due much later, and do not claim them repeatedly.
  await until(
    () => hotRows(pool),
    ({ waiting, leased }) => waiting === 199 && leased === 0,
  );
  const neighbour = await createWebhookTarget(node, account, `${receiver.url}/neighbour`);
  for (let sent = 1; sent <= 10; sent++) {
    await sendItem(node, account, neighbour.id);
    await receiver.arrivals(sent, { path: "/neighbour" });
  }
  expect(arrivedAt("/limited")).toHaveLength(1);
  await node.call("PATCH", `/api/v1/targets/${limited.id}`, {
    key: account.api_key,
    body: { rate_limit_per_second: null },
  });
  await receiver.arrivals(200, { path: "/limited" });
});

it("two nodes together have no more requests in flight to a target than its max_concurrency", async ({
  receiver,
  pool,
  nodes,
  account,
  sendThroughBoth,
}) => {
  const most = 3;
  let inFlight = 0;
  const seen: number[] = [];
  receiver.answer = (received, response) => {
    seen.push(++inFlight);
    setTimeout(() => {
      inFlight--;
      answerOk(received, response);
    }, 20);
  };
  const limited = await createWebhookTarget(nodes[0], account, `${receiver.url}/limited`, {
    max_concurrency: most,
  });
  await storeDueItems(pool, { orgId: account.user.org_id, targetId: limited.id, count: 150 });
  await sendThroughBoth(limited.id, 150);
  await receiver.arrivals(300, { path: "/limited", limitMs: 60_000 });
  expect(Math.max(...seen), "requests in flight").toBe(most);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(300);
  // A node with nothing to send returns its share.
  await until(
    () => countRows(pool, "target_shares"),
    (count) => count === 0,
  );
  for (const node of nodes) await sendItem(node, account, limited.id);
  await receiver.arrivals(302, { path: "/limited" });
});
