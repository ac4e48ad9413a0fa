import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import {
  createEmptyTestDatabase,
  createTestDatabase,
  type TestDatabase,
} from "../../test/support/database.ts";
import { applyMigrations } from "./applyMigrations.ts";
import { lastBeforeBaseline, lastMigration, type Migration, migrations, toMigration } from "./migrations.ts";
import { createPool } from "./pool.ts";
import { newProcessRecord, noteAlive, noteEnd } from "./processes.ts";

let database: TestDatabase;
let pool: pg.Pool;
let client: pg.PoolClient;
const next = lastMigration + 1;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = createPool({ connection: database.connection, size: 2, onError: () => undefined });
  client = await pool.connect();
  await client.query("reset search_path");
});

afterEach(async () => {
  client.release(true);
  await pool.end();
  await database.drop();
});

function made(text: string): Migration {
  return toMigration({ name: `${digits(next)}_later.sql`, text });
}

const digits = (version: number): string => String(version).padStart(4, "0");

test("an older process runs on a database with migrations that only add", async () => {
  const later = made("create table later (id integer)");
  expect(await applyMigrations({ client, pool }, [...migrations, later])).toEqual([later.name]);
  expect(await applyMigrations({ client, pool }, migrations)).toEqual([]);
});

test("an older process refuses a database after a migration that removes something it uses", async () => {
  const later = made(`-- needs ${digits(next)}\ndrop table mailbox_activity`);
  expect(await applyMigrations({ client, pool }, [...migrations, later])).toEqual([later.name]);
  await expect(applyMigrations({ client, pool }, migrations)).rejects.toThrow(
    `the database has migration ${later.name}, which requires processes that know migration ${next}; this version of Postrider knows migrations up to ${lastMigration}: start a newer version`,
  );
});

test("a database with the last schema before 1.0.0 is taken over as it is", async () => {
  await pretend(lastBeforeBaseline);
  const [, ...later] = migrations.map(({ name }) => name);
  expect(await applyMigrations({ client, pool }, migrations)).toEqual(later);
  const { rows } = await client.query("select name from schema_changes order by version");
  expect(rows).toEqual([{ name: "old" }, ...migrations.map(({ name }) => ({ name }))]);
});

test("a database of an earlier commit is refused, and the error names the commit that can upgrade it", async () => {
  const refusal =
    /^the database was created by a commit before 1\.0\.0: start commit [0-9a-f]{7,} on it once/;
  await pretend(lastBeforeBaseline - 1);
  await expect(applyMigrations({ client, pool }, migrations)).rejects.toThrow(refusal);
  await client.query("drop table schema_changes");
  await expect(applyMigrations({ client, pool }, migrations)).rejects.toThrow(refusal);
});

test("another program's database is refused, and nothing is created in it", async () => {
  const theirs = await createEmptyTestDatabase();
  const other = createPool({ connection: theirs.connection, size: 1, onError: () => undefined });
  const session = await other.connect();
  try {
    await session.query("create table users (id integer); create table organizations (id integer)");
    await expect(applyMigrations({ client: session, pool: other }, migrations)).rejects.toThrow(
      /tables that this version of Postrider did not create \(organizations, users\)/,
    );
    await session.query("drop table users, organizations; create table schema_changes (change text)");
    await expect(applyMigrations({ client: session, pool: other }, migrations)).rejects.toThrow(
      /did not create \(schema_changes\)/,
    );
    await session.query("drop table schema_changes");
    const { rows } = await session.query(
      "select relname from pg_class where relnamespace = 'public'::regnamespace",
    );
    expect(rows).toEqual([]);
  } finally {
    session.release(true);
    await other.end();
    await theirs.drop();
  }
});

test("another program's table schema_migrations is not dropped", async () => {
  await client.query("create table schema_migrations (version text)");
  expect(await applyMigrations({ client, pool }, migrations)).toEqual([]);
  const { rows } = await client.query("select to_regclass('schema_migrations') is not null as stays");
  expect(rows).toEqual([{ stays: true }]);
});

/** Turns the table of migrations into that of a commit before 1.0.0. */
async function pretend(version: number): Promise<void> {
  await client.query("delete from schema_changes where version > $1", [migrations[0]!.version]);
  await client.query("update schema_changes set version = $1, name = 'old', checksum = ''", [version]);
}

test("a migration that removes something is refused until the processes that use it have ended", async () => {
  const later = made(`-- needs ${digits(next)}\ndrop table mailbox_activity`);
  const older = newProcessRecord("0.0.1");
  await noteAlive(pool, older);
  await expect(applyMigrations({ client, pool }, [...migrations, later])).rejects.toThrow(
    `${later.name} removes what running processes of earlier versions use (0.0.1 on ${older.host}): stop them first`,
  );
  await noteEnd(pool, older);
  expect(await applyMigrations({ client, pool }, [...migrations, later])).toEqual([later.name]);
});

test("a process that was not seen for a minute does not prevent a migration", async () => {
  const later = made(`-- needs ${digits(next)}\nselect 1`);
  const dead = newProcessRecord("0.0.1");
  await noteAlive(pool, dead);
  await pool.query("update processes set seen_at = now() - interval '61 s' where id = $1", [dead.id]);
  expect(await applyMigrations({ client, pool }, [...migrations, later])).toEqual([later.name]);
});

test("the start fails when a migration was edited after it ran", async () => {
  const edited = migrations.with(0, { ...migrations[0]!, checksum: "other" });
  await expect(applyMigrations({ client, pool }, edited)).rejects.toThrow(
    /0100_baseline\.sql was edited after it ran/,
  );
});
