import pg from "pg";
import { functionSchema } from "../../src/postgres/functionSchema.ts";

/* Changes to the database that an administrator, a failover or another version makes without the service. */

/** Renames tables, so that every statement about them fails. */
export function takeAwayTables(url: string, tables: readonly string[]): Promise<void> {
  return inDatabase(url, tables.map((table) => `alter table ${table} rename to ${table}_away`).join("; "));
}

/** Gives the renamed tables their names again. */
export function bringBackTables(url: string, tables: readonly string[]): Promise<void> {
  return inDatabase(url, tables.map((table) => `alter table ${table}_away rename to ${table}`).join("; "));
}

/** Makes new sessions of the database read-only, as those of a standby are, or writable again. */
export function setReadOnly(url: string, isReadOnly: boolean): Promise<void> {
  const change = isReadOnly ? "set default_transaction_read_only = on" : "reset all";
  return inDatabase(
    url,
    `begin read write;
     do $$ begin execute format('alter database %I ${change}', current_database()); end $$;
     commit`,
  );
}

/** Limits the connections to the database; -1 removes the limit. */
export function limitConnections(url: string, limit: number): Promise<void> {
  return inDatabase(
    url,
    `do $$ begin execute format('alter database %I connection limit ${limit}', current_database()); end $$`,
  );
}

/** Changes the database's encoding for new sessions; version 1.0.0 could create such databases. */
export function setEncoding(url: string, encoding: string): Promise<void> {
  return inDatabase(
    url,
    `update pg_database set encoding = pg_char_to_encoding('${encoding}') where datname = current_database()`,
  );
}

/** Makes every insert of an item fail, as a full disk would. @returns a function that ends this. */
export async function fillDisk(url: string): Promise<() => Promise<void>> {
  await inDatabase(
    url,
    `create function refuse_growth() returns trigger language plpgsql as $$
       begin raise exception 'could not extend file "base/1/2": No space left on device' using errcode = '53100'; end
     $$;
     create trigger full_disk before insert on events for each row execute function refuse_growth()`,
  );
  return () => inDatabase(url, "drop trigger full_disk on events; drop function refuse_growth");
}

async function inDatabase(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/**
 * Ends every other session of the database with the service's application name, or those with one of these texts
 * in their last statement.
 */
export async function endSessions(pool: pg.Pool, statements: readonly string[] = [""]): Promise<void> {
  const { rowCount } = await pool.query(
    `select pg_terminate_backend(pid)
     from pg_stat_activity
     where datname = current_database()
       and application_name = 'postrider'
       and pid <> pg_backend_pid()
       and exists (select from unnest($1::text[]) as text where strpos(query, text) > 0)`,
    [statements],
  );
  if (rowCount === 0) throw new Error("no session to end");
}

/**
 * Ends the sessions that listen for notifications; between notifications their last statement is a check of the
 * connection.
 */
export function endListening(pool: pg.Pool): Promise<void> {
  return endSessions(pool, ["listen ", "select 1"]);
}

/** Records a migration that removes what this version needs, as a later version does. */
export async function noteLaterMigration(pool: pg.Pool): Promise<void> {
  await pool.query(
    "insert into schema_changes (version, name, checksum, needs) values (9999, '9999_later.sql', '', 9999)",
  );
}

/** Drops the functions of this version. */
export async function dropFunctions(pool: pg.Pool): Promise<void> {
  await pool.query(`drop schema ${functionSchema} cascade`);
}

/** Renames a function of this version. */
export async function renameFunction(pool: pg.Pool, name: string, newName: string): Promise<void> {
  await pool.query(`alter function ${name} rename to ${newName}`);
}

/** Replaces a function of this version by the text of a file. */
export async function replaceFunction(pool: pg.Pool, text: string): Promise<void> {
  await pool.query(text.replace("create function", "create or replace function"));
}

/** The recorded processes of every version, as an operator queries them. */
export async function listProcesses(pool: pg.Pool): Promise<{ functions: string; running: boolean }[]> {
  const { rows } = await pool.query<{ functions: string; running: boolean }>(
    "select functions, ended_at is null as running from processes order by started_at",
  );
  return rows;
}
