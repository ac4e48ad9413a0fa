import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { createTestDatabase, type TestDatabase } from "../../test/support/database.ts";
import { applyMigrations } from "./applyMigrations.ts";
import { lastMigration, type Migration, migrations, toMigration } from "./migrations.ts";
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

test("an older process refuses a database from which was taken what it uses", async () => {
  const later = made(`-- needs ${digits(next)}\ndrop table mailbox_activity`);
  expect(await applyMigrations({ client, pool }, [...migrations, later])).toEqual([later.name]);
  await expect(applyMigrations({ client, pool }, migrations)).rejects.toThrow(
    `the database has migration ${later.name}, on which only processes can run that know migration ${next}; this version of Postrider knows those up to ${lastMigration}: start a newer version`,
  );
});

test("what only adds is not seen by versions that refuse each migration they do not know; what takes away is", async () => {
  const seen = async (): Promise<number[]> => {
    const { rows } = await client.query<{ version: number }>(
      "select version from schema_migrations order by version",
    );
    return rows.map(({ version }) => version);
  };
  const upTo9 = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  expect(await seen()).toEqual(upTo9);
  const later = made(`-- needs ${digits(lastMigration)}\nselect 1`);
  await applyMigrations({ client, pool }, [...migrations, later]);
  expect(await seen()).toEqual([...upTo9, next]);
});

test("a migration that takes something away waits for the processes that use it", async () => {
  const later = made(`-- needs ${digits(next)}\ndrop table mailbox_activity`);
  const older = newProcessRecord("0.0.1");
  await noteAlive(pool, older);
  await expect(applyMigrations({ client, pool }, [...migrations, later])).rejects.toThrow(
    `${later.name} takes away what running processes of earlier versions use (0.0.1 on ${older.host}): stop them first`,
  );
  await noteEnd(pool, older);
  expect(await applyMigrations({ client, pool }, [...migrations, later])).toEqual([later.name]);
});

test("a process that has not been seen for a minute holds nothing up", async () => {
  const later = made(`-- needs ${digits(next)}\nselect 1`);
  const dead = newProcessRecord("0.0.1");
  await noteAlive(pool, dead);
  await pool.query("update processes set seen_at = now() - interval '61 s' where id = $1", [dead.id]);
  expect(await applyMigrations({ client, pool }, [...migrations, later])).toEqual([later.name]);
});

test("a migration that was edited after it ran stops the start", async () => {
  const edited = migrations.with(2, { ...migrations[2]!, checksum: "other" });
  await expect(applyMigrations({ client, pool }, edited)).rejects.toThrow(
    /0003_\w+\.sql was edited after it ran/,
  );
});
