import { expect } from "vitest";
import { createMailboxTarget, createWebhookTarget, readEvent, sendItem } from "../../test/support/items.ts";
import { loopbackTargets, nodeTest } from "../../test/support/fixtures.ts";
import type { Account, TestNode } from "../../test/support/testNode.ts";

const it = nodeTest(loopbackTargets);

it.for([
  [
    "cancel_deliveries",
    async (node: TestNode, account: Account) =>
      (await createWebhookTarget(node, account, "http://127.0.0.1:9/never-sent")).id,
  ],
  ["cancel_messages", createMailboxTarget],
] as const)(
  "a deletion that is committed is answered as done when %s fails after it",
  async ([canceling, create], { pool, node, account }) => {
    const id = await create(node, account);
    const event = await sendItem(node, account, id);
    await pool.query(`alter function ${canceling} rename to missing_${canceling}`);
    const { status } = await node.call("DELETE", `/api/v1/targets/${id}`, { key: account.api_key });
    expect(status).toBe(200);
    expect(await readEvent(node, account, event)).toMatchObject({ event: { status: "CANCELED" } });
  },
);
