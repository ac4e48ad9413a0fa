import { expect } from "vitest";
import { nodeTest, testPool } from "../../test/support/fixtures.ts";
import { holdRows } from "../../test/support/heldLocks.ts";
import { createMailboxTarget } from "../../test/support/items.ts";
import { signUp } from "../../test/support/testNode.ts";
import { carryingOnErasures } from "./chores.ts";

/** A node that only handles requests, so that this test carries out the erasures. */
const it = nodeTest({ POSTRIDER_ROLES: "api" });

it("an erasure that always fails does not delay the others", async ({
  node,
  database,
  pool,
  onTestFinished,
}) => {
  const ask = async () => {
    const account = await signUp(node);
    const key = account.api_key;
    const target = await createMailboxTarget(node, account);
    const headers = { "x-correlation-id": "c" };
    const { body: item } = await node.call("POST", `/t/${target}`, { key, headers, body: { a: 1 } });
    const { body: erasure } = await node.call("POST", "/api/v1/erasures", {
      key,
      body: { correlation_id: "c" },
    });
    const read = async () => (await node.call("GET", `/api/v1/erasures/${erasure.id}`, { key })).body;
    return { item, read };
  };
  const [held, ...others] = [await ask(), await ask(), await ask()];
  onTestFinished(await holdRows(pool, "events", { id: held.item.id }));
  const impatient = testPool(database, 1);
  onTestFinished(() => impatient.end());
  // Longer than a run, as is the service's own limit of 10 s: a failing erasure takes a whole run.
  await impatient.query("set lock_timeout = 2500");
  const carryOn = carryingOnErasures({
    pool: impatient,
    mailboxRetentionMs: 86_400_000,
    onMailboxItems: () => undefined,
  });
  await expect(carryOn()).rejects.toThrow("lock timeout");
  expect(await carryOn().catch(String)).toContain("lock timeout");
  for (const { read } of others) expect(await read()).toMatchObject({ erased: 1 });
  expect(await held.read()).toMatchObject({ status: "RUNNING" });
});
