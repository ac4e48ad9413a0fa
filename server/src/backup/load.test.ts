import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { createEmptyTestDatabase } from "../../test/support/database.ts";
import { databaseTest, testPool } from "../../test/support/fixtures.ts";
import { until } from "../../test/support/until.ts";
import { homeOf } from "../postgres/foreignTables.ts";
import { load } from "./load.ts";
import type { Part } from "./parts.ts";
import { openSession, withSnapshot } from "./takeSnapshot.ts";

/** Rows of which PostgreSQL refuses the first, while the stream buffers more pieces and many are still to come. */
async function* refusedRows(): AsyncGenerator<Part, void> {
  yield { kind: "begin", table: "organizations", source: "organizations" };
  for (let piece = 0; piece < 4_000; piece++) yield { kind: "bytes", bytes: Buffer.alloc(10_000, "x") };
  yield { kind: "end", rows: 1 };
}

/** A source that fails within a table. */
async function* brokenOff(): AsyncGenerator<Part, void> {
  yield { kind: "begin", table: "organizations", source: "organizations" };
  yield { kind: "bytes", bytes: Buffer.from("PGCOPY\n\xff\r\n\0", "latin1") };
  throw new Error("the source broke");
}

const it = databaseTest();

it.for([
  [
    "an error while rows come, as of a full disk, is PostgreSQL's own",
    refusedRows,
    "COPY file signature not recognized",
  ],
  ["a source that breaks within a table ends the load", brokenOff, "the source broke"],
] as const)("%s, and leaves an empty database", async ([, rows, reason], { database, onTestFinished }) => {
  const empty = await createEmptyTestDatabase();
  onTestFinished(() => empty.drop());
  const session = await openSession(empty.connection);
  onTestFinished(() => session.end());
  const { connection } = database;
  await withSnapshot(
    { connection, encryptionKey: randomBytes(32), version: "1.0.0", nowMs: Date.now() },
    async (contents) => {
      const loading = load(session, { ...contents, parts: rows() });
      await expect(loading).rejects.toThrow(reason);
    },
  );
  const pool = testPool(empty, 1);
  onTestFinished(() => pool.end());
  const client = await pool.connect();
  expect(await homeOf(client)).toBeUndefined();
  client.release();
});

it("committed rows stay even if their statistics cannot be gathered", async ({
  database,
  onTestFinished,
}) => {
  const empty = await createEmptyTestDatabase();
  onTestFinished(() => empty.drop());
  const session = await openSession(empty.connection);
  onTestFinished(() => session.end());
  const pool = testPool(empty, 2);
  onTestFinished(() => pool.end());
  const other = await pool.connect();
  onTestFinished(() => other.release());
  const { connection } = database;
  const source = { connection, encryptionKey: randomBytes(32), version: "1.0.0", nowMs: Date.now() };
  const loaded = await withSnapshot(source, async (contents) => {
    const loading = load(session, {
      ...contents,
      sequences: async () => {
        // ANALYZE waits for this lock, the load does not.
        await other.query("begin; lock table targets in share update exclusive mode");
        return contents.sequences();
      },
    });
    const isCanceled = async (): Promise<boolean> => {
      const { rows } = await pool.query(
        `select pg_cancel_backend(pid)
         from pg_stat_activity
         where datname = current_database()
           and query = 'analyze'
           and wait_event_type = 'Lock'`,
      );
      return rows.length > 0;
    };
    await until(isCanceled);
    return loading;
  });
  await other.query("rollback");
  const { rows } = await pool.query(
    "select count(*)::integer as count from pg_class where relname = 'targets'",
  );
  expect(loaded.tables).toBeGreaterThan(0);
  expect(rows).toEqual([{ count: 1 }]);
});
