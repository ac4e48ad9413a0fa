import { expect, onTestFinished } from "vitest";
import { databaseTest } from "../../../test/support/fixtures.ts";
import { countLockWaits, holdRows } from "../../../test/support/heldLocks.ts";
import { storeApiKey, storeOrganization, storeTarget } from "../../../test/support/storedItems.ts";
import { until } from "../../../test/support/until.ts";
import { bucketOf, newId } from "../../postgres/ids.ts";
import { newClaimToken } from "../claim/claimMessages.ts";
import { changeClaims } from "./changeClaims.ts";
import { closeMessages } from "./closeMessages.ts";

const it = databaseTest({ poolSize: 6 });

const key = `ak_live_${"d".repeat(64)}`;

it("extending and acknowledging the same claims of two mailboxes at the same time both succeed", async ({
  pool,
}) => {
  const orgId = await storeOrganization(pool);
  const keyId = await storeApiKey(pool, orgId, key);
  const mailboxes = [
    await storeTarget(pool, orgId, { kind: "mailbox" }),
    await storeTarget(pool, orgId, { kind: "mailbox" }),
  ].sort();
  const claimToken = newClaimToken();
  const [first, second] = await Promise.all(
    // The mailbox with the smaller id has the message with the larger id.
    mailboxes.map(async (mailboxId, n) => {
      const id = newId(bucketOf(mailboxId), Date.now() - n * 1_000);
      await pool.query(
        `insert into messages (bucket, state, size, mailbox_id, id, position, claimable_at, claim_count, claimed_by, claim_token)
         values ($1, 2, 1, $2, $3, 1, $4, 1, $5, $6)`,
        [bucketOf(id), mailboxId, id, Date.now() + 600_000, keyId, claimToken],
      );
      return id;
    }),
  );
  const requests = [first!, second!].map((messageId) => ({
    key,
    messageId,
    mailboxId: null,
    claimToken,
    reason: null,
  }));
  const deps = {
    pool,
    retentionMs: 604_800_000,
    onKeyUsed: () => undefined,
    onMessagesReady: () => undefined,
  };
  const letGo = await holdRows(pool, "messages", { id: first! });
  onTestFinished(letGo);
  const extending = changeClaims(
    deps,
    requests.map((request) => ({ ...request, leaseMs: 60_000, delayMs: 0 })),
  );
  await until(
    () => countLockWaits(pool),
    (waits) => waits === 1,
  );
  const acknowledging = closeMessages(deps, requests);
  await until(
    () => countLockWaits(pool),
    (waits) => waits === 2,
  );
  await letGo();
  // PostgreSQL ends one of the two calls to resolve the deadlock, and that call is retried after the other has ended.
  const [acknowledged, extended] = await Promise.all([acknowledging, extending]);
  expect(acknowledged).toEqual(["done", "done"]);
  expect(extended).toHaveLength(2);
});
