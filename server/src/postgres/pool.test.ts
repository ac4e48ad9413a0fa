import { expect } from "vitest";
import { setDefaults } from "../../test/support/databaseDefaults.ts";
import { stageTest as it, testPool } from "../../test/support/fixtures.ts";

it.for([
  ["off", "on"],
  ["on", "on"],
  ["local", "local"],
  ["remote_apply", "remote_apply"],
])(
  "a commit waits for the disk: a default synchronous_commit of %s becomes %s",
  async ([given, taken], { pool, database, onTestFinished }) => {
    await setDefaults(pool, { synchronous_commit: given! });
    const fresh = testPool(database, 1);
    onTestFinished(() => fresh.end());
    const { rows } = await fresh.query("show synchronous_commit");
    expect(rows).toEqual([{ synchronous_commit: taken }]);
  },
);
