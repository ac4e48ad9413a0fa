import { expect } from "vitest";
import { startedNodeTest } from "./support/fixtures.ts";
import { countLockWaits, holdRows } from "./support/heldLocks.ts";
import { createWebhookTarget, sendItem } from "./support/items.ts";
import { endSessions } from "./support/otherHands.ts";
import { answerOk } from "./support/receiver.ts";
import { until } from "./support/until.ts";

const it = startedNodeTest();

it("a recovery that could not be written to the database is written with the next delivery", async ({
  node,
  account,
  receiver,
  pool,
}) => {
  const target = await createWebhookTarget(node, account, receiver.url);
  const isFailing = async (): Promise<boolean> => {
    const { body } = await node.call("GET", `/api/v1/targets/${target.id}`, { key: account.api_key });
    return body.failing_since !== undefined;
  };
  receiver.answer = (_received, response) => response.writeHead(500).end();
  await sendItem(node, account, target.id);
  await until(isFailing);
  const arrived = Promise.withResolvers<() => void>();
  receiver.answer = (received, response) => arrived.resolve(() => answerOk(received, response));
  await sendItem(node, account, target.id);
  const answer = await arrived.promise;
  receiver.answer = answerOk;
  const letGo = await holdRows(pool, "targets", { id: target.id });
  answer();
  await until(async () => (await countLockWaits(pool)) > 0);
  await endSessions(pool, ["select org_id, failing_since"]);
  await letGo();
  expect(await isFailing()).toBe(true);
  // Repeated, because a node reloads a target for which nothing was sent.
  await until(async () => {
    await sendItem(node, account, target.id);
    return !(await isFailing());
  });
});
