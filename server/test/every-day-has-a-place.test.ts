import { expect } from "vitest";
import { dailyTables } from "../src/postgres/partitions.ts";
import { createAgentTarget, untilEnded } from "./support/agentTargets.ts";
import { file, startedNodeTest } from "./support/fixtures.ts";
import { createMailboxTarget } from "./support/items.ts";
import { bodyOf } from "./support/testNode.ts";
import type { Organization } from "./support/organization.ts";
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
  async (table, { node, account, organization, targets, receiver }) => {
    receiver.answer = ({ path }, response) => {
      response.writeHead(path === targets.refusing.path ? 500 : 200).end();
    };
    expect(await dropDays(node.pool, table)).toBeGreaterThan(7);
    // Statements that end an item, and the statements after them, also meet the missing partition.
    const message = await organization.send(targets.mailbox, { a: "message" });
    const failed = await organization.send(targets.refusing.id, { a: "failure" });
    const handedOver = await organization.send(targets.agent, { do: "complete" });
    const publication = await organization.call("POST", "/p/shop", { a: "publication" });
    // Some of these items share a row, and the record of their delivery.
    const together = await Promise.all([1, 2, 3].map((n) => organization.send(targets.webhook.id, { n })));
    expect(publication.status).toBe(202);
    const delivered = await sendOnce(organization, targets.webhook.id, `key for ${table}`);
    expect(await sendOnce(organization, targets.webhook.id, `key for ${table}`)).toBe(delivered);

    await organization.settled(delivered, "DELIVERED");
    for (const id of together) await organization.settled(id, "DELIVERED");
    await organization.settled(failed, "FAILED");
    await organization.settled(publication.body.items[0].id, "DELIVERED");
    await untilEnded(node, account, handedOver);
    await acknowledge(organization, targets.mailbox, message);
    const replay = await organization.call("POST", `/api/v1/events/${delivered}/replay`);
    expect(replay.status).toBe(202);
    await organization.settled(replay.body.id, "DELIVERED");
    expect((await node.call("GET", "/readyz")).status).toBe(200);
  },
);

async function sendOnce(organization: Organization, targetId: string, key: string): Promise<string> {
  const { status, body } = await organization.call(
    "POST",
    `/t/${targetId}`,
    { once: true },
    { "idempotency-key": key },
  );
  expect(status).toBe(202);
  return body.id;
}

async function acknowledge(organization: Organization, mailboxId: string, messageId: string): Promise<void> {
  const { messages } = await bodyOf(organization.call("POST", `/api/v1/mailboxes/${mailboxId}/claim`));
  expect(messages.map(({ id }: { id: string }) => id)).toEqual([messageId]);
  const answer = await organization.call("POST", `/api/v1/mailbox-messages/${messageId}/ack`, {
    claim_token: messages[0].claim_token,
  });
  expect(answer).toMatchObject({ status: 200, body: { status: "ACKNOWLEDGED" } });
}
