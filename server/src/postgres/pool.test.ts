import { expect } from "vitest";
import { setDefaults } from "../../test/support/databaseDefaults.ts";
import { stageTest as it, testPool } from "../../test/support/fixtures.ts";
import { openSession } from "../backup/takeSnapshot.ts";

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
    const session = await openSession(database.connection);
    onTestFinished(() => session.end());
    for (const each of [fresh, session]) {
      const { rows } = await each.query("show synchronous_commit");
      expect(rows).toEqual([{ synchronous_commit: taken }]);
    }
  },
);

it("no default of the database ends long transactions, or idle sessions of a backup", async ({
  pool,
  database,
  skip,
  onTestFinished,
}) => {
  const { rowCount } = await pool.query("select from pg_settings where name = 'transaction_timeout'");
  skip(rowCount === 0, "PostgreSQL has a time limit for transactions since version 17");
  await setDefaults(pool, { transaction_timeout: "1s", idle_session_timeout: "1s" });
  const fresh = testPool(database, 1);
  const [session, idle] = [await openSession(database.connection), await openSession(database.connection)];
  onTestFinished(async () => {
    await Promise.allSettled([fresh.end(), session.end(), idle.end()]);
  });
  await Promise.all([fresh, session].map((each) => each.query("select pg_sleep(2)")));
  await idle.query("select");
});
