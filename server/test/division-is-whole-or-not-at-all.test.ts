import type pg from "pg";
import { expect } from "vitest";
import { withSnapshot } from "../src/backup/takeSnapshot.ts";
import { cellSchemaPattern, cellSchemas, unfinishedSchemaPattern } from "../src/postgres/cells.ts";
import { newId } from "../src/postgres/ids.ts";
import { migrate, migrationLockKey } from "../src/postgres/migrate.ts";
import { baseline, lastBeforeBaseline } from "../src/postgres/migrations.ts";
import { dayMs, dayName } from "../src/postgres/partitions.ts";
import { newProcessRecord, noteAlive, noteEnd } from "../src/postgres/processes.ts";
import { tablesOfCells } from "../src/postgres/tablePlaces.ts";
import { divisionLockKey } from "../src/process/commands/cells/divideDatabase.ts";
import { createEmptyTestDatabase, type TestDatabase } from "./support/database.ts";
import { runDatabaseCommand } from "./support/databaseCommand.ts";
import { rowsOf } from "./support/filledDatabase.ts";
import { stageTest } from "./support/fixtures.ts";
import { holdReading, holdTable } from "./support/heldLocks.ts";
import { createMailboxTarget } from "./support/items.ts";
import { serviceFile, someKey, startProgram } from "./support/program.ts";
import { storeDueItems, storeOrganization, storeTarget } from "./support/storedItems.ts";
import { createTestNode, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";

const command = ["db", "divide", "--cells", "4", "--yes"];

const it = stageTest.extend(
  "divide",
  ({ database }) =>
    (...args: string[]) =>
      runDatabaseCommand(args.length === 0 ? command : args, environmentOf(database)),
);

function environmentOf({ url }: TestDatabase): Record<string, string> {
  return { DATABASE_URL: url, POSTRIDER_ENCRYPTION_KEY: someKey };
}

async function schemasLike(pool: pg.Pool, pattern: string): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    "select count(*)::integer as count from pg_namespace where nspname ~ $1",
    [pattern],
  );
  return rows[0]!.count;
}

/** Number of the command's sessions, and of those that wait for a lock. */
async function sessionsOfCommand(pool: pg.Pool): Promise<{ all: number; waiting: number }> {
  const { rows } = await pool.query<{ all: number; waiting: number }>(
    `select count(*)::integer as all, (count(*) filter (where wait_event_type = 'Lock'))::integer as waiting
     from pg_stat_activity
     where datname = current_database()
       and application_name = 'postrider backup'`,
  );
  return rows[0]!;
}

/** Whether the undivided tables accept writes. */
async function mayBeWritten(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query<{ tables: number }>(
    `select count(distinct relation)::integer as tables
     from pg_locks
     where mode in ('ExclusiveLock', 'AccessExclusiveLock')
       and granted
       and relation in (select ('public.' || name)::regclass from unnest($1::text[]) as t (name))`,
    [tablesOfCells],
  );
  return rows[0]!.tables < tablesOfCells.length;
}

it("a killed command leaves the database unchanged, and can be repeated", async ({
  database,
  pool,
  divide,
}) => {
  const orgId = await storeOrganization(pool);
  await storeDueItems(pool, { orgId, targetId: await storeTarget(pool, orgId), count: 20 });
  const before = await rowsOf(pool, "public");
  const today = dayName(Math.floor(Date.now() / dayMs));
  const killedBehind = async (letGo: () => Promise<void>): Promise<void> => {
    try {
      const program = startProgram({
        command: [process.execPath, serviceFile, "db", "divide", "--cells", "2", "--yes"],
        env: environmentOf(database),
      });
      const sessions = () => sessionsOfCommand(pool);
      await until(sessions, ({ waiting }) => waiting > 0);
      expect(await mayBeWritten(pool)).toBe(false);
      program.kill("SIGKILL");
      await until(sessions, ({ all }) => all === 0);
    } finally {
      await letGo();
    }
    // Every start does this as well.
    await migrate(pool);
    expect(await schemasLike(pool, unfinishedSchemaPattern)).toBe(0);
    expect(await schemasLike(pool, cellSchemaPattern)).toBe(0);
    expect(await rowsOf(pool, "public")).toEqual(before);
  };
  // Killed while rows are moved, and in the transaction that makes the cells visible.
  await killedBehind(await holdTable(pool, `public.settlements_${today}`));
  await killedBehind(await holdReading(pool, "public.settlements"));

  expect(await divide("db", "divide", "--cells", "2", "--yes")).toMatchObject({
    code: 0,
    err: expect.stringContaining("Start the service with POSTRIDER_CELLS=2"),
  });
  expect(await schemasLike(pool, cellSchemaPattern)).toBe(2);
});

it("a command that loses its connections reports that, and leaves the database unchanged", async ({
  database,
  pool,
}) => {
  const letGo = await holdReading(pool, "public.settlements");
  const program = startProgram({
    command: [process.execPath, serviceFile, "db", "divide", "--cells", "2", "--yes"],
    env: environmentOf(database),
  });
  await until(
    () => sessionsOfCommand(pool),
    ({ waiting }) => waiting > 0,
  );
  await pool.query(
    `select pg_terminate_backend(pid)
     from pg_stat_activity
     where datname = current_database()
       and application_name = 'postrider backup'`,
  );
  expect(await program.ended).toEqual({ code: 1, signal: null });
  expect(program.output()).toMatch(/the connection to the database was lost .*: run the command again/);
  await letGo();
  await migrate(pool);
  expect(await schemasLike(pool, cellSchemaPattern)).toBe(0);
});

it("a database that cannot be divided is refused with the reason, and stays unchanged", async ({
  pool,
  divide,
}) => {
  const refuses = async (reason: string | RegExp, code: number, ...args: string[]): Promise<void> => {
    const ended = await divide(...args);
    expect(ended).toMatchObject({ code, err: expect.stringMatching(reason) });
    expect(await schemasLike(pool, unfinishedSchemaPattern)).toBe(0);
  };
  await refuses("--cells must be 2, 4, 8 or 16", 2, "db", "divide", "--cells", "3", "--yes");
  await refuses("add --yes", 2, "db", "divide", "--cells", "2");
  await refuses(
    'there is no "split": postrider db cells, postrider db divide, postrider db distribute',
    2,
    "db",
    "split",
  );

  const service = newProcessRecord("1.0.0");
  await noteAlive(pool, service);
  await refuses(`a service runs on the database .on ${service.host}.: stop it first`, 5);
  await noteEnd(pool, service);

  // Locks of a starting process, and of a division whose other session was lost.
  for (const key of [migrationLockKey, divisionLockKey]) {
    const holder = await pool.connect();
    await holder.query("select pg_advisory_lock($1)", [key]);
    await refuses("a process starts on the database, or another divides it", 5);
    await holder.query("select pg_advisory_unlock($1)", [key]);
    holder.release();
  }

  const pretend = (version: number): Promise<unknown> =>
    pool.query(
      `delete from schema_changes where version > (select min(version) from schema_changes);
       update schema_changes set version = ${version}`,
    );
  await pretend(9999);
  await refuses("which this version of Postrider does not know: use the newer version's command", 1);
  await pretend(lastBeforeBaseline);
  await refuses(`lacks migration ${baseline.name}: start this version of the service`, 1);

  const none = await createEmptyTestDatabase();
  expect(await runDatabaseCommand(command, environmentOf(none))).toMatchObject({
    code: 1,
    err: expect.stringContaining("the database has no tables of Postrider yet"),
  });
  await none.drop();
});

it("ids from before cells are refused when they belong to another cell than their organization", async ({
  pool,
  divide,
}) => {
  // In the last bucket of the first of two cells, which is in the second of four.
  const orgId = await storeOrganization(pool, newId(0x7f, Date.now()));
  const targetOf = (bucket: number): Promise<string> =>
    storeTarget(pool, orgId, { id: newId(bucket, Date.now()) });
  await targetOf(0x70);
  await storeDueItems(pool, { orgId, targetId: await targetOf(0x3f), count: 2 });
  const refused = await divide();
  expect(refused).toMatchObject({
    code: 1,
    err: expect.stringMatching(/1 of the 2 targets .* of 4 cells .*: it can be divided into 2$/),
  });
  // A deleted target counts as long as it has items.
  const gone = await targetOf(0xf0);
  await storeDueItems(pool, { orgId, targetId: gone, count: 2 });
  await pool.query("delete from targets where id = $1", [gone]);
  const neither = await divide("db", "divide", "--cells", "2", "--yes");
  expect(neither.err).toMatch(
    /1 of the 3 targets .* of 2 cells .*: it can be divided after these targets and their items are deleted$/,
  );
  await pool.query("delete from events where target_id = $1", [gone]);
  expect(await divide("db", "divide", "--cells", "2", "--yes")).toMatchObject({ code: 0 });
  expect((await rowsOf(pool, cellSchemas(2)[0]!)).get("events")).toHaveLength(2);
  const again = await divide();
  expect(again).toMatchObject({
    code: 1,
    err: expect.stringContaining("the database has 2 cells already, and keeps their number"),
  });
});

it("a process and a backup that the division did not see lose nothing afterwards", async ({
  database,
  divide,
}) => {
  const stale = createTestNode(database);
  try {
    const account = await signUp(stale);
    const mailbox = await createMailboxTarget(stale, account);
    const source = {
      connection: database.connection,
      encryptionKey: Buffer.alloc(32, 7),
      version: "1.0.0",
      nowMs: Date.now(),
    };
    const backup = withSnapshot(source, async ({ parts, sequences }) => {
      expect(await divide()).toMatchObject({ code: 0 });
      for await (const part of parts) expect(part.kind).not.toBe("");
      return sequences();
    });
    await expect(backup).rejects.toThrow("the database was divided into cells while it was read");
    const refused = await stale.call("POST", `/t/${mailbox}`, { key: account.api_key, body: {} });
    expect(refused).toMatchObject({ status: 503, body: { error: expect.stringMatching(/no partition/) } });
    const { status, body } = await stale.call("GET", "/readyz");
    expect([status, JSON.stringify(body)]).toEqual([
      503,
      expect.stringContaining("the database has 4 cells, and this process works with 1"),
    ]);
  } finally {
    await stale.stop();
  }
});
