import { expect } from "vitest";
import { nodeTest } from "../../test/support/fixtures.ts";
import { noChanges } from "../../test/support/idleSink.ts";
import { createMailboxTarget } from "../../test/support/items.ts";
import { signUp } from "../../test/support/testNode.ts";
import { tellEvents } from "./store.ts";

/** A node that only handles requests, so that this test sends the operational events. */
const it = nodeTest({ POSTRIDER_ROLES: "api" });

it("an organization with many failing targets delays no notification of another", async ({ node, pool }) => {
  const accounts = [await signUp(node), await signUp(node)];
  const mailboxes: string[] = [];
  for (const account of accounts) {
    const id = await createMailboxTarget(node, account);
    await node.call("POST", "/api/v1/notification-targets", {
      key: account.api_key,
      body: { target_id: id },
    });
    mailboxes.push(id);
  }
  await pool.query(
    `insert into operational_events (org_id, type, target_id, count, at_ms)
     select case when n < 500 then $1::uuid else $2::uuid end, 'event.failed', gen_random_uuid(), 1, n
     from generate_series(1, 500) n`,
    accounts.map(({ user }) => user.org_id).sort(),
  );
  const told: string[] = [];
  await tellEvents({
    pool,
    changes: noChanges,
    onDue: () => undefined,
    onMailboxItems: (ids) => told.push(...ids),
  });
  expect(new Set(told)).toEqual(new Set(mailboxes));
});
