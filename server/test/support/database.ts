import { randomBytes } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";
import { migrate } from "../../src/postgres/migrate.ts";
import { cellSchemas } from "../../src/postgres/cells.ts";
import { createPool, type DatabaseConnection } from "../../src/postgres/pool.ts";
import { tablesOfCells } from "../../src/postgres/tablePlaces.ts";
import { citusUrl, closeOnNodes, createOnNodes, distributeCells, dropOnNodes, joinNodes } from "./citus.ts";
import { cellCount } from "./plain.ts";

export interface TestDatabase {
  connection: DatabaseConnection;
  /** The connection as a URL, for DATABASE_URL of a started service. */
  url: string;
  /** Ends every connection to the database and drops it. */
  drop: () => Promise<void>;
}

const templateLockKey = 7_281_934_002;

/** Creates a database with the current schema, cloned from the run's template; each test file needs its own. */
export async function createTestDatabase(): Promise<TestDatabase> {
  return clone(await ensureTemplate());
}

/** Creates a database without a schema, for tests of migrations. */
export async function createEmptyTestDatabase(encoding = "UTF8"): Promise<TestDatabase> {
  return clone("template0", `encoding '${encoding}'`);
}

async function clone(template: string, options = ""): Promise<TestDatabase> {
  const { prefix } = inject("postgres");
  const name = `${prefix}_${randomBytes(6).toString("hex")}`;
  const connection = connectionTo(name);
  const url = urlOf(connection);
  if (citusUrl !== undefined) {
    await createOnNodes(name, template);
    return { connection, url, drop: () => dropOnNodes(name) };
  }
  // Copying files takes a quarter of the CPU time of logging a thousand small relations.
  await administration().query(`create database ${name} template ${template} strategy file_copy ${options}`);
  return {
    connection,
    url,
    async drop() {
      await administration().query(`drop database if exists ${name} with (force)`);
    },
  };
}

let template: Promise<string> | undefined;

/** The name of the run's template; it exists when the promise resolves. */
function ensureTemplate(): Promise<string> {
  if (template === undefined) {
    template = makeTemplate();
    template.catch(() => (template = undefined));
  }
  return template;
}

/** The first worker creates the template under a lock. It is renamed last, so that other workers find it complete. */
async function makeTemplate(): Promise<string> {
  const { prefix } = inject("postgres");
  const name = cellCount === 1 ? `${prefix}_template` : `${prefix}_template_${cellCount}`;
  const client = await administration().connect();
  try {
    await client.query("select pg_advisory_lock($1)", [templateLockKey]);
    await fillTemplate(client, name);
  } finally {
    // Closes the session, which ends the lock. Later statements need another session, once for all databases of the worker.
    client.release(true);
  }
  return name;
}

async function fillTemplate(client: pg.PoolClient, template: string): Promise<void> {
  const { rowCount } = await client.query("select 1 from pg_database where datname = $1", [template]);
  if (rowCount !== 0) return;
  if (citusUrl !== undefined) return makeCitusTemplate(template);
  const unfinished = `${template}_unfinished`;
  await client.query(`drop database if exists ${unfinished} with (force)`);
  await client.query(`create database ${unfinished} template template0 encoding 'UTF8'`);
  const pool = createPool({ connection: connectionTo(unfinished), size: 1, onError: () => undefined });
  try {
    await migrate(pool, { cells: cellCount });
    if (shownSchema !== undefined) await showAllCells(pool);
  } finally {
    await pool.end();
  }
  await client.query(`alter database ${unfinished} rename to ${template}`);
}

/** A half-made template is not reused, because its name belongs to one run. */
async function makeCitusTemplate(template: string): Promise<void> {
  await createOnNodes(template, "template0");
  await joinNodes(template);
  const connection = connectionTo(template);
  const pool = createPool({ connection, size: 1, onError: () => undefined });
  try {
    await migrate(pool, { cells: cellCount });
    await distributeCells(pool);
    await showAllCells(pool);
  } finally {
    await pool.end();
  }
  await closeOnNodes(template);
}

/** The schema in which tests see the rows of all cells; undefined with one cell. */
export const shownSchema = cellCount === 1 ? undefined : "all_cells";

/** Creates views with the names of the cells' tables, for tests that read rows. */
export async function showAllCells(pool: pg.Pool): Promise<void> {
  const views = tablesOfCells.map((table) => {
    const rows = cellSchemas(cellCount).map((schema) => `select * from ${schema}.${table}`);
    return `create view ${shownSchema}.${table} as ${rows.join(" union all ")}`;
  });
  await pool.query([`create schema ${shownSchema}`, ...views].join(";"));
}

let administrator: pg.Pool | undefined;

/**
 * A session of the server's superuser, which a worker keeps for all its databases, because a session costs PostgreSQL some 30 ms
 * of processor time.
 */
function administration(): pg.Pool {
  if (administrator === undefined) {
    const { connection } = inject("postgres");
    const to = "url" in connection ? { connectionString: connection.url } : connection;
    administrator = new pg.Pool({ ...to, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true });
    // The pool replaces a session that ends.
    administrator.on("error", () => undefined);
  }
  return administrator;
}

function connectionTo(database: string): DatabaseConnection {
  const { connection } = inject("postgres");
  if (!("url" in connection)) return { ...connection, database };
  const url = new URL(connection.url);
  url.pathname = `/${database}`;
  return { url: url.href };
}

export function urlOf(connection: DatabaseConnection): string {
  if ("url" in connection) return connection.url;
  const { host, port, user, database, password } = connection;
  const secret = password === undefined ? "" : `:${encodeURIComponent(password)}`;
  if (!host.startsWith("/")) return `postgresql://${user}${secret}@${host}:${port}/${database}`;
  return `postgresql://${user}${secret}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}
