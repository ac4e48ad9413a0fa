import { expect } from "vitest";
import { createWebhookTarget, sendItem } from "./support/items.ts";
import { answerOk } from "./support/receiver.ts";
import { type Answer, signUp, type TestNode } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { file, sharedStartedNodeTest } from "./support/fixtures.ts";

const it = sharedStartedNodeTest()
  /** Another process, which sends nothing: it learns of circuits from the first process. */
  .extend("other", file, ({ newNode }) => newNode({ POSTRIDER_ROLES: "api" }))
  .extend(
    "health",
    file,
    ({ other, account }) =>
      async (targetId: string, of: TestNode = other): Promise<Answer["body"]> => {
        const answer = await of.call("GET", `/api/v1/targets/${targetId}/health`, { key: account.api_key });
        expect(answer.status).toBe(200);
        return answer.body;
      },
  );

it.beforeEach(({ receiver }) => {
  receiver.answer = answerOk;
});

const seconds = expect.closeTo(Date.now() / 1000, -3);

it("of an unused target has no values, and of a target that answers has values", async ({
  node,
  account,
  receiver,
  health,
}) => {
  const { id } = await createWebhookTarget(node, account, `${receiver.url}/well`);
  const blank = {
    target_id: id,
    kind: "webhook",
    enabled: true,
    disabled_reason: null,
    circuit: "closed",
    in_flight: 0,
    due: 0,
    due_is_exact: true,
    oldest_due_at: null,
    oldest_due_seconds: null,
    success_rate_24h: null,
    failing_since: null,
    last_attempt_at: null,
    last_success_at: null,
    held: 0,
  };
  expect(await health(id)).toEqual(blank);
  await sendItem(node, account, id);
  const well = await until(
    () => health(id),
    ({ last_success_at: at }) => at !== null,
  );
  expect(well).toEqual({ ...blank, success_rate_24h: 1, last_attempt_at: seconds, last_success_at: seconds });
});

it("shows an open circuit on every node while the target fails steadily, and a closed one once it answers", async ({
  receiver,
  node,
  account,
  health,
}) => {
  receiver.answer = (_received, response) => response.writeHead(500).end();
  const { id } = await createWebhookTarget(node, account, `${receiver.url}/fails`, {
    retry_interval_seconds: 1,
  });
  for (let sent = 0; sent < 12; sent++) await sendItem(node, account, id);
  const open = await until(
    () => health(id),
    ({ circuit }) => circuit === "open",
  );
  expect(open).toMatchObject({ success_rate_24h: 0, last_success_at: null, last_attempt_at: seconds });
  expect(await health(id, node)).toMatchObject({ failing_since: seconds });
  receiver.answer = answerOk;
  const closed = await until(
    () => health(id),
    ({ circuit, due, in_flight: inFlight }) => circuit === "closed" && due + inFlight === 0,
  );
  expect(closed.success_rate_24h).toBeGreaterThan(0);
  expect(closed.success_rate_24h).toBeLessThan(1);
  expect(closed).toMatchObject({ failing_since: null, last_success_at: seconds });
});

it("counts requests in flight, and held items while the target is disabled", async ({
  account,
  receiver,
  node,
  health,
}) => {
  const key = account.api_key;
  const hanging: (() => void)[] = [];
  receiver.answer = (received, response) => void hanging.push(() => answerOk(received, response));
  const { id } = await createWebhookTarget(node, account, `${receiver.url}/slow`);
  await sendItem(node, account, id);
  await until(
    () => health(id),
    ({ in_flight: inFlight }) => inFlight === 1,
  );
  // An item that is leased but not sent yet would go back when the target is disabled, and be held.
  await receiver.arrivals(1, { path: "/slow" });
  await node.call("PATCH", `/api/v1/targets/${id}`, { key, body: { enabled: false } });
  for (const release of hanging) release();
  for (let sent = 0; sent < 3; sent++) await sendItem(node, account, id);
  const held = await until(
    () => health(id),
    ({ in_flight: inFlight }) => inFlight === 0,
  );
  expect(held).toMatchObject({ enabled: false, held: 3, due: 3, due_is_exact: true, oldest_due_at: seconds });
  expect(held.oldest_due_seconds).toBeGreaterThanOrEqual(0);
});

it("of a mailbox contains its statistics", async ({ account, node, health }) => {
  const key = account.api_key;
  const body = { kind: "mailbox", name: "box" };
  const { id } = (await node.call("POST", "/api/v1/targets", { key, body })).body;
  const messages = [await sendItem(node, account, id), await sendItem(node, account, id)];
  await node.call("POST", `/api/v1/mailbox-messages/${messages[0]!}/claim`, { key });
  expect(await health(id)).toMatchObject({
    target_id: id,
    kind: "mailbox",
    enabled: true,
    ready: 1,
    claimed: 1,
    dead: 0,
    oldest_ready_seconds: expect.any(Number),
  });
  expect(await health(id)).not.toHaveProperty("circuit");
});

it("is not visible to other organizations", async ({ node, account, receiver }) => {
  const { id } = await createWebhookTarget(node, account, `${receiver.url}/mine`);
  const stranger = await signUp(node);
  for (const path of [id, "0".repeat(32), "x", "%00"]) {
    const answer = await node.call("GET", `/api/v1/targets/${path}/health`, { key: stranger.api_key });
    expect(answer).toMatchObject({ status: 404, body: { error: "not found" } });
  }
});
