import type pg from "pg";
import { migrations } from "./migrations.ts";

/** Tables that describe the processes and the schema of one database; a restore creates them again. */
export const ofTheDatabase = ["schema_changes", "processes"];

/** The names of all tables that migrations create, whether or not they exist. */
export const tableNames: readonly string[] = [
  ...new Set([
    ...ofTheDatabase,
    ...migrations.flatMap(({ text }) =>
      [...text.matchAll(/^create (?:unlogged )?table (?:if not exists )?(\w+)/gm)].map((found) => found[1]!),
    ),
  ]),
];

/** The table of applied migrations. A migration is inserted in the transaction that creates its tables. */
const listOfMigrations = "schema_changes";

/** Whether a migration has been applied to the database, as found by the session's search path. */
export async function isMigrated(client: pg.ClientBase): Promise<boolean> {
  if ((await homeOf(client)) === undefined) return false;
  const { rowCount } = await client.query(`select from ${listOfMigrations} limit 1`);
  return rowCount === 1;
}

/** The schema of Postrider's tables, which contains the table of applied migrations; undefined when the session finds none. */
export async function homeOf(client: pg.ClientBase): Promise<string | undefined> {
  const { rows } = await client.query<{ home: string }>(
    `select c.relnamespace::regnamespace::text as home
     from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attname = 'checksum'
     where c.oid = to_regclass($1)`,
    [listOfMigrations],
  );
  return rows[0]?.home;
}

/**
 * Another program's database may have tables named `users` or `events`, too.
 * @returns the names of relations that no migration created and that have names of Postrider's tables; empty on a migrated
 * database.
 */
export async function findForeignTables(client: pg.ClientBase): Promise<string[]> {
  if (await isMigrated(client)) return [];
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name
     from pg_class c
     where c.relnamespace = to_regnamespace(quote_ident(current_schema()))
       and c.relname = any ($1::text[])
       -- The list of migrations may be there, and empty.
       and not (
         c.relname = $2
         and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'checksum')
       )
     order by name`,
    [tableNames, listOfMigrations],
  );
  return rows.map(({ name }) => name);
}

/** A message that says to whom the tables belong, and what to do. */
export function foreignTablesText(names: readonly string[]): string {
  const some = `${names.slice(0, 3).join(", ")}${names.length > 3 ? " …" : ""}`;
  return `the database has tables that this version of Postrider did not create (${some}): they belong to another program, or to a commit before 1.0.0. Set DATABASE_URL to a database that only Postrider uses`;
}
