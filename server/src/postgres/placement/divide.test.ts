import { expect } from "vitest";
import { stageTest } from "../../../test/support/fixtures.ts";
import { storeDueItems, storeOrganization, storeTarget } from "../../../test/support/storedItems.ts";
import { openSession } from "../../backup/takeSnapshot.ts";
import { divide } from "./divide.ts";

stageTest(
  "a division that is committed counts as done when statistics cannot be gathered",
  async ({ database, pool, onTestFinished }) => {
    const orgId = await storeOrganization(pool);
    await storeDueItems(pool, { orgId, targetId: await storeTarget(pool, orgId), count: 20 });
    const guard = await openSession(database.connection);
    onTestFinished(() => guard.end());
    const filler = await openSession(database.connection);
    onTestFinished(() => filler.end());
    const doing = (what: string): void => {
      // Closing the session makes its next statement fail.
      if (what.startsWith("gathering statistics")) void filler.end();
    };
    const divided = await divide({ guard, filler, doing }, 2);
    expect(divided.rows).toBeGreaterThan(20);
    await expect(divide({ guard, filler: guard, doing }, 2)).rejects.toThrow(/has 2 cells already/);
  },
);
