import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { createEmptyTestDatabase } from "../../test/support/database.ts";
import { databaseTest, testPool } from "../../test/support/fixtures.ts";
import { homeOf } from "../postgres/foreignTables.ts";
import { load } from "./load.ts";
import type { Part } from "./parts.ts";
import { openSession, withSnapshot } from "./takeSnapshot.ts";

/** Rows that PostgreSQL refuses at the first, in pieces of which a stream takes more than one, and many are still to come then. */
async function* refusedRows(): AsyncGenerator<Part, void> {
  yield { kind: "begin", table: "organizations", source: "organizations" };
  for (let piece = 0; piece < 4_000; piece++) yield { kind: "bytes", bytes: Buffer.alloc(10_000, "x") };
  yield { kind: "end", rows: 1 };
}

databaseTest()(
  "an error while rows come, as of a disk that is full, is PostgreSQL's own, and leaves an empty database",
  async ({ database, onTestFinished }) => {
    const empty = await createEmptyTestDatabase();
    onTestFinished(() => empty.drop());
    const session = await openSession(empty.connection);
    onTestFinished(() => session.end());
    const { connection } = database;
    await withSnapshot(
      { connection, encryptionKey: randomBytes(32), version: "1.0.0", nowMs: Date.now() },
      async (contents) => {
        const loading = load(session, { ...contents, parts: refusedRows() });
        await expect(loading).rejects.toThrow("COPY file signature not recognized");
      },
    );
    const pool = testPool(empty, 1);
    onTestFinished(() => pool.end());
    const client = await pool.connect();
    expect(await homeOf(client)).toBeUndefined();
    client.release();
  },
);
