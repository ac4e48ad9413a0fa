import { expect, onTestFinished } from "vitest";
import { noChanges } from "../../test/support/idleSink.ts";
import { createQueries } from "../postgres/tables.ts";
import { deleteTarget } from "./deleteTarget.ts";
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
    onTestFinished(async () => {
      await pool.query(`alter function missing_${canceling} rename to ${canceling}`);
    });
    const { status } = await node.call("DELETE", `/api/v1/targets/${id}`, { key: account.api_key });
    expect(status).toBe(200);
    expect(await readEvent(node, account, event)).toMatchObject({ event: { status: "CANCELED" } });
  },
);

it("a cancellation that fails after a deletion is logged with the target, without the items", async ({
  pool,
  node,
  account,
}) => {
  const id = await createMailboxTarget(node, account);
  await sendItem(node, account, id);
  await pool.query("alter function cancel_messages rename to missing_cancel_messages");
  onTestFinished(async () => {
    await pool.query("alter function missing_cancel_messages rename to cancel_messages");
  });
  const lines: [fields: object, message: string][] = [];
  const log = { warn: (fields: object, message: string) => void lines.push([fields, message]) };
  const deps = { queries: createQueries(pool), changes: noChanges, nowMs: Date.now, log };
  const origin = { orgId: account.user.org_id, actor: { kind: "service", name: "test" } } as const;
  expect(await deleteTarget(deps, origin, id)).toEqual({ ok: true });
  expect(lines).toEqual([
    [
      { err: expect.objectContaining({ code: "42883" }), target_id: id },
      "items of a deleted target could not be canceled; they read as CANCELED, and their rows are removed later",
    ],
  ]);
});
