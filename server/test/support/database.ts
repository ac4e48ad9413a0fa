import { randomBytes } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";
import { migrate } from "../../src/postgres/migrate.ts";
import { createPool, type DatabaseConnection } from "../../src/postgres/pool.ts";

export interface TestDatabase {
  connection: DatabaseConnection;
  /** The same as a URL, for DATABASE_URL of a started service. */
  url: string;
  /** Ends every connection to it and removes it. */
  drop: () => Promise<void>;
}

const templateLockKey = 7_281_934_002;

/** A database with the current schema, cloned from the run's template. For one test file each. */
export async function createTestDatabase(): Promise<TestDatabase> {
  return clone(await ensureTemplate());
}

/** A database without a schema, for tests of migrations. */
export async function createEmptyTestDatabase(): Promise<TestDatabase> {
  return clone("template0");
}

async function clone(template: string): Promise<TestDatabase> {
  const { prefix } = inject("postgres");
  const name = `${prefix}_${randomBytes(6).toString("hex")}`;
  // Copying files takes a quarter of the processor time of writing a thousand small relations to the log.
  await administer((client) =>
    client.query(`create database ${name} template ${template} strategy file_copy`),
  );
  const connection = connectionTo(name);
  return {
    connection,
    url: urlOf(connection),
    drop: () =>
      administer(async (client) => {
        await client.query(`drop database if exists ${name} with (force)`);
      }),
  };
}

/** Made by whichever worker comes first, under a lock; the others find it whole, because it is renamed last. */
async function ensureTemplate(): Promise<string> {
  const { prefix } = inject("postgres");
  const template = `${prefix}_template`;
  await administer(async (client) => {
    await client.query("select pg_advisory_lock($1)", [templateLockKey]);
    const { rowCount } = await client.query("select 1 from pg_database where datname = $1", [template]);
    if (rowCount !== 0) return;
    const unfinished = `${template}_unfinished`;
    await client.query(`drop database if exists ${unfinished} with (force)`);
    await client.query(`create database ${unfinished} template template0 encoding 'UTF8'`);
    const pool = createPool({ connection: connectionTo(unfinished), size: 1, onError: () => undefined });
    try {
      await migrate(pool);
    } finally {
      await pool.end();
    }
    await client.query(`alter database ${unfinished} rename to ${template}`);
  });
  return template;
}

async function administer<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const { connection } = inject("postgres");
  const client = new pg.Client("url" in connection ? { connectionString: connection.url } : connection);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function connectionTo(database: string): DatabaseConnection {
  const { connection } = inject("postgres");
  if (!("url" in connection)) return { ...connection, database };
  const url = new URL(connection.url);
  url.pathname = `/${database}`;
  return { url: url.href };
}

function urlOf(connection: DatabaseConnection): string {
  if ("url" in connection) return connection.url;
  const { host, port, user, database, password } = connection;
  const secret = password === undefined ? "" : `:${encodeURIComponent(password)}`;
  if (!host.startsWith("/")) return `postgresql://${user}${secret}@${host}:${port}/${database}`;
  return `postgresql://${user}${secret}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}
