import { expect, onTestFinished } from "vitest";
import { createWebhookTarget } from "./support/items.ts";
import { answerOk, type Received } from "./support/receiver.ts";
import { storeDueItems, untilNothingIsDue } from "./support/storedItems.ts";
import { stagedTest } from "./support/fixtures.ts";

const concurrency = 24;
const items = 3_000;
const ownHeaders = {
  Authorization: "Bearer of-the-receiver",
  "X-Tenant": { value: "shop-7", secret: false },
};

const it = stagedTest({
  LOG_LEVEL: "info",
  POSTRIDER_LOG_REQUESTS: "true",
  POSTRIDER_TARGET_CONCURRENCY: String(concurrency),
});

function ownHeadersOf({ headers }: Received): unknown[] {
  return [headers["authorization"], headers["x-tenant"]];
}

it("each item of a backlog is sent once, within its target's limit of concurrent requests and with its own headers, counted and logged", async ({
  service,
  account,
  receiver,
  pool,
}) => {
  let most = 0;
  let held: (() => void)[] = [];
  const letGo = (): void => {
    const answers = held;
    held = [];
    for (const answer of answers) answer();
  };
  // Each answer waits until the largest allowed number of requests is in flight, or for 50 ms.
  const slow = setInterval(letGo, 50);
  onTestFinished(() => clearInterval(slow));
  receiver.answer = (received, response) => {
    most = Math.max(
      most,
      held.push(() => answerOk(received, response)),
    );
    if (held.length >= concurrency) setImmediate(letGo);
  };
  const target = await createWebhookTarget(service, account, receiver.url, { headers: ownHeaders });
  await storeDueItems(pool, { orgId: account.user.org_id, targetId: target.id, count: items });
  await untilNothingIsDue(pool);
  expect(most).toBe(concurrency);
  const ids = receiver.received.map(({ id }) => id);
  expect(ids).toHaveLength(items);
  expect(new Set(ids).size).toBe(items);
  const carried = new Set(receiver.received.map((one) => JSON.stringify(ownHeadersOf(one))));
  expect([...carried]).toEqual([JSON.stringify([ownHeaders.Authorization, ownHeaders["X-Tenant"].value])]);
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  expect(metrics).toMatch(new RegExp(String.raw`^postrider_attempts_total\{[^}]*\} ${items}$`, "m"));
  expect(metrics).toMatch(new RegExp(`^postrider_delivery_latency_seconds_count ${items}$`, "m"));
  expect(await service.stop()).toBe(0);
  const attempts = service.output().match(/^\{.*"msg":"attempt"\}$/gm) ?? [];
  expect(attempts).toHaveLength(items);
  const warnings = service.output().match(/^.*"level":[456]0.*$/gm) ?? [];
  // The tests' server has fsync off, so the service warns that a crash loses data.
  expect(warnings.filter((line) => !line.includes("a crash of its machine"))).toEqual([]);
});
