import pg from "pg";
import { cellSchemaPattern, unfinishedSchemaPattern } from "../postgres/cells.ts";
import { schemasLike } from "../postgres/ensureCells.ts";
import {
  findForeignTables,
  foreignTablesText,
  homeOf,
  isMigrated,
  tableNames,
} from "../postgres/foreignTables.ts";
import { functionSchemaPattern } from "../postgres/functionSchema.ts";
import { transact } from "../postgres/pool.ts";
import { runningHosts } from "../postgres/processes.ts";
import { CommandError } from "../runtime/commandError.ts";

/**
 * Checks that a database may be filled: it has no tables of others, no organizations and no running service.
 * @throws {CommandError} otherwise.
 */
export async function refuseUnlessEmpty(client: pg.ClientBase): Promise<void> {
  await refuseForeignTables(client);
  if (!(await isMigrated(client))) return;
  await refuseWhileRunning(client);
  const { rows } = await client.query<{ count: string }>("select count(*) as count from organizations");
  const count = Number(rows[0]!.count);
  if (count === 0) return;
  throw new CommandError(
    `the database already holds ${count} organization${count === 1 ? "" : "s"}: give an empty one, or empty it with postrider reset`,
    "conflict",
  );
}

/** @throws {CommandError} when tables that no migration created have names of Postrider's tables, in the schema of those. */
export async function refuseForeignTables(client: pg.ClientBase): Promise<void> {
  const names = await findForeignTables(client);
  if (names.length > 0) throw new CommandError(foreignTablesText(names), "conflict");
}

/** @throws {CommandError} while a service uses the database. */
export async function refuseWhileRunning(client: pg.ClientBase): Promise<void> {
  if (!(await isMigrated(client))) return;
  const hosts = await runningHosts(client);
  if (hosts.length === 0) return;
  throw new CommandError(
    `a service runs on the database (on ${[...new Set(hosts)].join(", ")}): stop it first; one that died counts as running for a minute`,
    "conflict",
  );
}

/**
 * Drops the service's tables with their rows, and all versions' functions, and nothing else.
 * @returns whether anything was dropped.
 */
export async function dropOwnTables(client: pg.ClientBase): Promise<boolean> {
  const own = [functionSchemaPattern, cellSchemaPattern, unfinishedSchemaPattern];
  const schemas = await schemasLike(client, ...own);
  const home = await homeOf(client);
  const tables = home === undefined ? [] : await tablesIn(client, home);
  await transact(client, async () => {
    for (const schema of schemas) await client.query(`drop schema ${pg.escapeIdentifier(schema)} cascade`);
    if (tables.length > 0) await client.query(`drop table ${tables.join(", ")} cascade`);
    if (home !== undefined) await client.query(`drop sequence if exists ${home}.message_positions`);
  });
  return schemas.length + tables.length > 0;
}

/** Postrider's tables in a schema. Other schemas of the search path may have other software's tables with these names. */
async function tablesIn(client: pg.ClientBase, home: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.oid::regclass::text as name
     from pg_class c
     where c.relnamespace = $1::regnamespace
       and c.relname = any ($2)
       and c.relkind in ('r', 'p')`,
    [home, tableNames],
  );
  return rows.map(({ name }) => name);
}
