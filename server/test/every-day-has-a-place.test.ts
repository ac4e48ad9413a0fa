import { expect } from "vitest";
import { dailyTables } from "../src/postgres/partitions.ts";
import { createAgentTarget, untilEnded } from "./support/agentTargets.ts";
import { file, startedNodeTest } from "./support/fixtures.ts";
import { createMailboxTarget } from "./support/items.ts";
import { bodyOf } from "./support/testNode.ts";
import type { Workspace } from "./support/workspace.ts";
import { dropDays } from "./support/days.ts";

/*
 * A machine that slept longer than partitions are created in advance has none for today. Any statement that needs
 * a missing partition creates it, whatever the table: no request is refused, and none waits for the next round of
 * maintenance.
 */

const it = startedNodeTest({ POSTRIDER_ROLES: "api,dispatcher" }).extend(
  "targets",
  file,
  async ({ node, account, newTarget, call, agent }) => {
    await call("PUT", "/api/v1/customers/shop", {});
    return {
      webhook: await newTarget(),
      refusing: await newTarget({ max_retries: 0 }),
      ofShop: await newTarget({ customer_uid: "shop" }),
      mailbox: await createMailboxTarget(node, account),
      agent: await createAgentTarget(node, account, agent.cardUrl),
    };
  },
);

it.for(dailyTables)(
  "without a partition of %s all requests and deliveries work",
  async (table, { node, account, workspace, targets, receiver }) => {
    receiver.answer = ({ path }, response) => {
      response.writeHead(path === targets.refusing.path ? 500 : 200).end();
    };
    expect(await dropDays(node.pool, table)).toBeGreaterThan(7);
    // Statements that end an item, and the statements after them, also meet the missing partition.
    const message = await workspace.send(targets.mailbox, { a: "message" });
    const failed = await workspace.send(targets.refusing.id, { a: "failure" });
    const handedOver = await workspace.send(targets.agent, { do: "complete" });
    const publication = await workspace.call("POST", "/p/shop", { a: "publication" });
    // Some of these items share a row, and the record of their delivery.
    const together = await Promise.all([1, 2, 3].map((n) => workspace.send(targets.webhook.id, { n })));
    expect(publication.status).toBe(202);
    const delivered = await sendOnce(workspace, targets.webhook.id, `key for ${table}`);
    expect(await sendOnce(workspace, targets.webhook.id, `key for ${table}`)).toBe(delivered);

    await workspace.settled(delivered, "DELIVERED");
    for (const id of together) await workspace.settled(id, "DELIVERED");
    await workspace.settled(failed, "FAILED");
    await workspace.settled(publication.body.items[0].id, "DELIVERED");
    await untilEnded(node, account, handedOver);
    await acknowledge(workspace, targets.mailbox, message);
    const replay = await workspace.call("POST", `/api/v1/events/${delivered}/replay`);
    expect(replay.status).toBe(202);
    await workspace.settled(replay.body.id, "DELIVERED");
    expect((await node.call("GET", "/readyz")).status).toBe(200);
  },
);

async function sendOnce(workspace: Workspace, targetId: string, key: string): Promise<string> {
  const { status, body } = await workspace.call(
    "POST",
    `/t/${targetId}`,
    { once: true },
    { "idempotency-key": key },
  );
  expect(status).toBe(202);
  return body.id;
}

async function acknowledge(workspace: Workspace, mailboxId: string, messageId: string): Promise<void> {
  const { messages } = await bodyOf(workspace.call("POST", `/api/v1/mailboxes/${mailboxId}/claim`));
  expect(messages.map(({ id }: { id: string }) => id)).toEqual([messageId]);
  const answer = await workspace.call("POST", `/api/v1/mailbox-messages/${messageId}/ack`, {
    claim_token: messages[0].claim_token,
  });
  expect(answer).toMatchObject({ status: 200, body: { status: "ACKNOWLEDGED" } });
}
