import { expect } from "vitest";
import { everyAttempt } from "./support/everyAttempt.ts";
import { createWebhookTarget, sendItem, sendItems } from "./support/items.ts";
import { answerOk } from "./support/receiver.ts";
import { hotRows, storeDueItems, untilNothingIsDue } from "./support/storedItems.ts";
import { until } from "./support/until.ts";
import { stagedTest } from "./support/fixtures.ts";

const it = stagedTest()
  .extend("nodes", async ({ service, again }) => [service, await again()] as const)
  .extend(
    "arrivedAt",
    ({ receiver }) =>
      (path: string) =>
        receiver.at(path),
  )
  /** Sends through both nodes in turn. */
  .extend(
    "sendThroughBoth",
    ({ nodes, account }) =>
      async (targetId: string, count: number): Promise<void> => {
        await Promise.all(nodes.map((node) => sendItems(node, account, targetId, count / 2)));
      },
  );

/**
 * Attempts that are late by up to 0.25 s may be made up for at once, and a machine that stands still for a moment brings
 * those together that were to begin in it. Two nodes that each took the whole rate would be far beyond this.
 */
const lateSeconds = 1;

interface Rate {
  rate: number;
  burst: number;
}

/** How many attempts may begin in so many seconds, with a tenth as tolerance. */
function allowedIn(seconds: number, { rate, burst }: Rate): number {
  return (burst + rate * seconds) * 1.1 + rate * lateSeconds;
}

/** The most that any window had beyond that; not above 0. */
function mostOverRate(momentsMs: readonly number[], limits: Rate): number {
  let most = Number.NEGATIVE_INFINITY;
  for (let first = 0; first < momentsMs.length; first++) {
    for (let last = first; last < momentsMs.length; last++) {
      const seconds = (momentsMs[last]! - momentsMs[first]!) / 1000;
      most = Math.max(most, last - first + 1 - allowedIn(seconds, limits));
    }
  }
  return most;
}

/** How many attempts began in each whole second between the first and the last. */
function perSecond(momentsMs: readonly number[]): number[] {
  const counts = Array.from({ length: Math.floor((momentsMs.at(-1)! - momentsMs[0]!) / 1000) }, () => 0);
  for (const moment of momentsMs) {
    const second = Math.floor((moment - momentsMs[0]!) / 1000);
    if (second < counts.length) counts[second]!++;
  }
  return counts;
}

it("a target gets its rate from two nodes and no more, retries among it, and a neighbour is not held up", async ({
  pool,
  receiver,
  nodes,
  account,
  sendThroughBoth,
  arrivedAt,
}) => {
  const limits = { rate: 50, burst: 5 };
  const tried = new Set<string>();
  receiver.answer = (received, response) => {
    // A fifth fails at first.
    const isFirst = !tried.has(received.id);
    tried.add(received.id);
    if (isFirst && received.path === "/limited" && tried.size % 5 === 0) response.writeHead(500).end();
    else answerOk(received, response);
  };
  const limited = await createWebhookTarget(nodes[0], account, `${receiver.url}/limited`, {
    rate_limit_per_second: limits.rate,
    rate_limit_burst: limits.burst,
    retry_interval_seconds: 1,
  });
  const neighbour = await createWebhookTarget(nodes[0], account, `${receiver.url}/neighbour`);
  await storeDueItems(pool, { orgId: account.user.org_id, targetId: limited.id, count: 300 });
  await sendThroughBoth(limited.id, 100);
  await sendThroughBoth(neighbour.id, 100);
  await receiver.arrivals(100, { path: "/neighbour" });
  expect(new Set(arrivedAt("/limited").map(({ id }) => id)).size).toBeLessThan(400);
  await untilNothingIsDue(pool, 60_000);
  const arrivals = arrivedAt("/limited");
  expect(new Set(arrivals.map(({ id }) => id)).size).toBe(400);
  expect(arrivals.length).toBeGreaterThanOrEqual(450);
  const { rows: begun } = await pool.query<{ attempted_at: number }>(
    `select attempted_at from ${everyAttempt} where target_id = $1 order by attempted_at`,
    [limited.id],
  );
  const beginnings = begun.map(({ attempted_at }) => attempted_at);
  expect(beginnings).toHaveLength(arrivals.length);
  expect(mostOverRate(beginnings, limits)).toBeLessThanOrEqual(0);
  // And no less: with a backlog to take from, the seconds in the middle have nine tenths of it, whatever a busy machine
  // made of some of them. The last attempts are retries, which wait for their time.
  const inSeconds = perSecond(beginnings.slice(0, 400)).toSorted((a, b) => a - b);
  expect(inSeconds[inSeconds.length >> 1]).toBeGreaterThanOrEqual(limits.rate * 0.9);
  // By the receiver's own clock, which is late now and then on a busy machine: over all of it.
  const seconds = (arrivals.at(-1)!.atMs - arrivals[0]!.atMs) / 1000;
  expect(arrivals.length).toBeLessThanOrEqual(allowedIn(seconds, limits));
});

it("a rate of less than one in ten seconds holds neither its items nor its node up", async ({
  receiver,
  pool,
  nodes,
  account,
  sendThroughBoth,
  arrivedAt,
}) => {
  const [node] = nodes;
  const limited = await createWebhookTarget(node, account, `${receiver.url}/limited`, {
    rate_limit_per_second: 0.01,
  });
  await sendThroughBoth(limited.id, 40);
  await receiver.arrivals(1, { path: "/limited" });
  // What may not be sent for long is left to whoever may, and nobody asks for it over and over.
  await until(
    () => hotRows(pool),
    ({ waiting, leased }) => waiting === 39 && leased === 0,
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
  await receiver.arrivals(40, { path: "/limited" });
});

it("a target has no more requests under way than it may, on both nodes together", async ({
  receiver,
  pool,
  nodes,
  account,
  sendThroughBoth,
}) => {
  const most = 3;
  let underWay = 0;
  const seen: number[] = [];
  receiver.answer = (received, response) => {
    seen.push(++underWay);
    setTimeout(() => {
      underWay--;
      answerOk(received, response);
    }, 20);
  };
  const limited = await createWebhookTarget(nodes[0], account, `${receiver.url}/limited`, {
    max_concurrency: most,
  });
  await storeDueItems(pool, { orgId: account.user.org_id, targetId: limited.id, count: 150 });
  await sendThroughBoth(limited.id, 150);
  await receiver.arrivals(300, { path: "/limited", limitMs: 60_000 });
  expect(Math.max(...seen)).toBe(most);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(300);
  // Whoever has nothing to send keeps no share from the other.
  await until(
    async () => (await pool.query("select from target_shares")).rowCount,
    (count) => count === 0,
  );
  for (const node of nodes) await sendItem(node, account, limited.id);
  await receiver.arrivals(302, { path: "/limited" });
});
