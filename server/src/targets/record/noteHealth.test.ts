import { expect } from "vitest";
import { databaseTest } from "../../../test/support/fixtures.ts";
import { countLockWaits } from "../../../test/support/heldLocks.ts";
import { storeOrganization, storeTarget } from "../../../test/support/storedItems.ts";
import { until } from "../../../test/support/until.ts";
import { inTransaction } from "../../postgres/pool.ts";
import { newId } from "../../postgres/ids.ts";
import { noteRecovery } from "./noteHealth.ts";

const it = databaseTest({ poolSize: 4 });

it("a recovery that is noted while a failure's transaction is open is not lost", async ({ pool }) => {
  const targetId = await storeTarget(pool, await storeOrganization(pool));
  const url = "https://example.com/";
  const note = { targetId, url, eventId: newId(0, Date.now()), nowSeconds: 1_000_100 };
  let isOver = false;
  const recovery = await inTransaction(pool, async (client) => {
    // The same update as in noteFailure, in a transaction that has not ended yet.
    await client.query("update targets set failing_since = 1000000 where id = $1", [targetId]);
    const noted = noteRecovery(pool, note).finally(() => {
      isOver = true;
    });
    await until(
      () => countLockWaits(pool),
      (waits) => waits === 1 || isOver,
    );
    return { noted };
  });
  await recovery.noted;
  const { rows } = await pool.query("select failing_since from targets where id = $1", [targetId]);
  expect(rows).toEqual([{ failing_since: null }]);
});
